#!lua
-- KEYS: the plan. ARGV: revision, json, lifetime in ms or '' for ever,
-- summary.
if redis.call('EXISTS', KEYS[1]) == 1 then
  return 0
end
redis.call('HSET', KEYS[1], 'revision', ARGV[1], 'json', ARGV[2], 'summary', ARGV[4])
if ARGV[3] ~= '' then
  redis.call('PEXPIRE', KEYS[1], ARGV[3])
end
return 1
