-- Queue URLs that were too deep, down to a depth: ARGV = epoch, batch, depth, how many at once.
-- Gives 0 if there may be more, or OK at the end. Beginning anew is harmless: no other batch comes in between.
local batch = tonumber(ARGV[2])
local refused = refusal(ARGV[1], batch)
if refused then return refused end
local names = redis.call('ZRANGEBYSCORE', deep, '-inf', ARGV[3], 'LIMIT', 0, ARGV[4])
for _, name in ipairs(names) do
  local sequence = struct.unpack('>I6', name)
  local key = string.sub(element_of(sequence), 1, 8)
  local _, state, bucket = entry_of(key)
  change(key, sequence, state, QUEUED, bucket)
end
if #names == tonumber(ARGV[4]) then
  save(applied)
  return 0
end
save(batch)
return 'OK'
