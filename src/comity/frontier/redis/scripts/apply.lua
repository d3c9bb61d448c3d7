-- One batch of a host: ARGV = epoch, batch, hints (key and 17 bytes each), keys done, keys dropped,
-- put back (key, time, tries), links.
local batch = tonumber(ARGV[2])
local refused = refusal(ARGV[1], batch)
if refused then return refused end
local met = {}
for i = 7, #ARGV do
  if not add(ARGV[i], QUEUED, true) and counts[TOO_DEEP] > 0 then met[#met + 1] = ARGV[i] end
end
flush()
for _, element in ipairs(met) do lift(element) end
for i = 1, #ARGV[3], 25 do
  local sequence = entry_of(string.sub(ARGV[3], i, i + 7))
  if sequence then redis.call('HSET', hints, name_of(sequence), string.sub(ARGV[3], i + 8, i + 24)) end
end
for turn, after in ipairs({DONE, DROPPED}) do
  local keys = ARGV[3 + turn]
  for i = 1, #keys, 8 do
    local key = string.sub(keys, i, i + 7)
    local sequence, state, bucket = entry_of(key)
    if sequence then change(key, sequence, state, after, bucket) end
  end
end
for i = 1, #ARGV[6], 18 do
  local at, count = struct.unpack('>dI2', ARGV[6], i + 8)
  local sequence, state = entry_of(string.sub(ARGV[6], i, i + 7))
  if sequence and state == QUEUED then put_off(sequence, at, count) end
end
save(batch)
return 'OK'
