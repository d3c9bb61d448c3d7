-- Bring URLs from one state to another: ARGV = epoch, batch, before, after, keys.
local batch = tonumber(ARGV[2])
local refused = refusal(ARGV[1], batch)
if refused then return refused end
local before, after = tonumber(ARGV[3]), tonumber(ARGV[4])
for i = 1, #ARGV[5], 8 do
  local key = string.sub(ARGV[5], i, i + 7)
  local sequence, state, bucket = entry_of(key)
  if sequence and state == before then change(key, sequence, before, after, bucket) end
end
save(batch)
return 'OK'
