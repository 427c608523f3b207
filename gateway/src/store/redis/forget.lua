#!lua flags=allow-oom
-- KEYS: an index. ARGV: member, score, member, score ...
for at = 1, #ARGV, 2 do
  local score = redis.call('ZSCORE', KEYS[1], ARGV[at])
  if score and tonumber(score) == tonumber(ARGV[at + 1]) then
    redis.call('ZREM', KEYS[1], ARGV[at])
  end
end
return redis.status_reply('OK')
