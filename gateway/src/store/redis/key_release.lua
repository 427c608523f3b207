#!lua flags=allow-oom
-- KEYS: the record, the caller's index. ARGV: claim held, request.
local held = redis.call('HMGET', KEYS[1], 'claim', 'kept_until')
if held[1] ~= ARGV[1] or held[2] ~= '' then
  return 0
end
redis.call('DEL', KEYS[1])
redis.call('ZREM', KEYS[2], ARGV[2])
return 1
