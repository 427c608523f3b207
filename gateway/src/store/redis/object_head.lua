#!lua flags=allow-oom
-- KEYS: seq, epoch. ARGV: an epoch in case there is none, as in a new store or
-- one that lost its content.
redis.call('SET', KEYS[2], ARGV[1], 'NX')
return { redis.call('GET', KEYS[2]), redis.call('GET', KEYS[1]) or '0' }
