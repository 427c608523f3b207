#!lua flags=allow-oom
-- KEYS: the plan. ARGV: expected revision, revision, json, lifetime in ms or
-- '' for ever, summary.
if redis.call('HGET', KEYS[1], 'revision') ~= ARGV[1] then
  return 0
end
redis.call('HSET', KEYS[1], 'revision', ARGV[2], 'json', ARGV[3], 'summary', ARGV[5])
if ARGV[4] == '' then
  redis.call('PERSIST', KEYS[1])
else
  redis.call('PEXPIRE', KEYS[1], ARGV[4])
end
return 1
