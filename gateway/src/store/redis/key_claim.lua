#!lua
-- KEYS: the record, the caller's index, what is unsettled. ARGV: now, quota,
-- request, claim, json, lifetime of the index in ms, end of the lease, member
-- of what is unsettled. A record that is open has kept_until ''.
local kept_until = redis.call('HGET', KEYS[1], 'kept_until')
if kept_until and (kept_until == '' or tonumber(kept_until) >= tonumber(ARGV[1])) then
  return { 'existing', redis.call('HGET', KEYS[1], 'json') }
end
redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', '(' .. ARGV[1])
if redis.call('ZCARD', KEYS[2]) >= tonumber(ARGV[2]) then
  return { 'over-quota', '' }
end
-- An answer that has lapsed goes with its expiry: an open record has none.
redis.call('DEL', KEYS[1])
redis.call('HSET', KEYS[1], 'claim', ARGV[4], 'kept_until', '', 'json', ARGV[5])
redis.call('ZADD', KEYS[2], '+inf', ARGV[3])
redis.call('PEXPIRE', KEYS[2], ARGV[6])
redis.call('ZADD', KEYS[3], ARGV[7], ARGV[8])
return { 'fresh', '' }
