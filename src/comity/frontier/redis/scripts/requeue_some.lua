-- Queue URLs that are done again, each with a new priority: ARGV = epoch, batch, keys and priorities (12 bytes each).
local batch = tonumber(ARGV[2])
local refused = refusal(ARGV[1], batch)
if refused then return refused end
for i = 1, #ARGV[3], 12 do
  local key = string.sub(ARGV[3], i, i + 7)
  local sequence, state, bucket = entry_of(key)
  if sequence and state == DONE then
    local element = element_of(sequence)
    local ranked = string.sub(element, 1, 12) .. string.sub(ARGV[3], i + 8, i + 11) .. string.sub(element, 17)
    redis.call('LSET', data .. ':u:' .. math.floor(sequence / PER), sequence % PER, ranked)
    change(key, sequence, DONE, QUEUED, bucket)
  end
end
save(batch)
return 'OK'
