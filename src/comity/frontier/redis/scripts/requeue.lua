-- Queue everything again that is done: ARGV = epoch, batch, from which list, how many lists.
-- Gives the list to go on from, or OK at the end. Beginning anew is harmless: no other batch comes in between.
local batch = tonumber(ARGV[2])
local refused = refusal(ARGV[1], batch)
if refused then return refused end
local first = tonumber(ARGV[3])
local last = first + tonumber(ARGV[4])
for number = first, last - 1 do
  for place, element in ipairs(redis.call('LRANGE', data .. ':u:' .. number, 0, -1)) do
    local key, sequence = string.sub(element, 1, 8), number * PER + place - 1
    local _, state, bucket = entry_of(key)
    local name = name_of(sequence)
    if state == DONE then
      redis.call('HSET', bucket, key, struct.pack('>I6B', sequence, QUEUED))
      counts[DONE], counts[QUEUED] = counts[DONE] - 1, counts[QUEUED] + 1
      rank(element, name)
    elseif state == QUEUED and waiting then
      redis.call('ZREM', later, name)
      redis.call('ZREM', due, name)
      rank(element, name)
    end
  end
end
flush()
if last * PER < known then
  save(applied)
  return last
end
redis.call('UNLINK', tries)
save(batch)
return 'OK'
