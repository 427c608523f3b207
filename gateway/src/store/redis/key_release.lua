#!lua flags=allow-oom
-- KEYS: the record, the caller's index, what is unsettled. ARGV: claim held,
-- request, member of what is unsettled.
local held = redis.call('HMGET', KEYS[1], 'claim', 'kept_until')
if held[1] ~= ARGV[1] or held[2] ~= '' then
  return 0
end
redis.call('DEL', KEYS[1])
redis.call('ZREM', KEYS[2], ARGV[2])
redis.call('ZREM', KEYS[3], ARGV[3])
return 1
