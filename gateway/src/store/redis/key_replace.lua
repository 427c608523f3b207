#!lua flags=allow-oom
-- KEYS: the record, the caller's index, what is unsettled. ARGV: claim held,
-- request, new claim, kept_until or '' while open, json, lifetime of an answer
-- in ms, end of the lease, member of what is unsettled.
local held = redis.call('HMGET', KEYS[1], 'claim', 'kept_until')
if held[1] ~= ARGV[1] or held[2] ~= '' then
  return 0
end
redis.call('HSET', KEYS[1], 'claim', ARGV[3], 'kept_until', ARGV[4], 'json', ARGV[5])
if ARGV[4] == '' then
  redis.call('ZADD', KEYS[2], '+inf', ARGV[2])
  redis.call('ZADD', KEYS[3], ARGV[7], ARGV[8])
else
  redis.call('PEXPIRE', KEYS[1], ARGV[6])
  redis.call('ZADD', KEYS[2], ARGV[4], ARGV[2])
  redis.call('ZREM', KEYS[3], ARGV[8])
end
return 1
