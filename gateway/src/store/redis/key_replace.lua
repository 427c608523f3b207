#!lua flags=allow-oom
-- KEYS: the record, the caller's index. ARGV: claim held, request, new claim,
-- kept_until or '' while open, json, lifetime of an answer in ms.
local held = redis.call('HMGET', KEYS[1], 'claim', 'kept_until')
if held[1] ~= ARGV[1] or held[2] ~= '' then
  return 0
end
redis.call('HSET', KEYS[1], 'claim', ARGV[3], 'kept_until', ARGV[4], 'json', ARGV[5])
if ARGV[4] == '' then
  redis.call('ZADD', KEYS[2], '+inf', ARGV[2])
else
  redis.call('PEXPIRE', KEYS[1], ARGV[6])
  redis.call('ZADD', KEYS[2], ARGV[4], ARGV[2])
end
return 1
