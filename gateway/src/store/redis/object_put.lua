#!lua
-- KEYS: objects, log, seq. ARGV: member, owner, revision, json or '' for a
-- tombstone.
local found = redis.call('HGET', KEYS[1], ARGV[1])
if found then
  local stored = cjson.decode(found)
  if stored.owner ~= ARGV[2] then
    return { 'foreign', stored.owner }
  end
  if stored.revision == ARGV[3] and stored.json == ARGV[4] then
    return { 'unchanged', stored.seq }
  end
  if tonumber(stored.revision) >= tonumber(ARGV[3]) then
    return { 'stale', stored.revision }
  end
end
redis.call('INCR', KEYS[3])
-- Read back as text: a number that a script makes would lose digits as text.
local seq = redis.call('GET', KEYS[3])
redis.call('HSET', KEYS[1], ARGV[1], cjson.encode({
  owner = ARGV[2], revision = ARGV[3], seq = seq, json = ARGV[4],
}))
redis.call('ZADD', KEYS[2], seq, ARGV[1])
return { 'applied', seq }
