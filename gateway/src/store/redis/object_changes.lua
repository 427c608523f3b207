#!lua flags=no-writes
-- KEYS: objects, log. ARGV: after, limit. One step, so that no change between
-- the two reads can be skipped.
local members = redis.call('ZRANGE', KEYS[2], '(' .. ARGV[1], '+inf', 'BYSCORE', 'LIMIT', 0, ARGV[2])
local found = {}
for at, member in ipairs(members) do
  found[2 * at - 1] = member
  found[2 * at] = redis.call('HGET', KEYS[1], member)
end
return found
