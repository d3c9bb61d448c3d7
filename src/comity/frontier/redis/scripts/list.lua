-- URLs by age: ARGV = from which sequence number, how many to look at, the state wanted ('' for any).
-- Gives the number to go on from, or -1; and of each its number, element, state, tries, time and hints.
local first, wanted = tonumber(ARGV[1]), tonumber(ARGV[3])
local last = math.min(first + tonumber(ARGV[2]), known) - 1
local found, number, chunk = {}, nil, nil
for sequence = first, last do
  local place = math.floor(sequence / PER)
  if place ~= number then
    number, chunk = place, redis.call('LRANGE', data .. ':u:' .. place, 0, -1)
  end
  local element = chunk[sequence % PER + 1]
  local _, state = entry_of(string.sub(element, 1, 8))
  if wanted == nil or state == wanted then
    local name = name_of(sequence)
    local at = waiting and (redis.call('ZSCORE', later, name) or redis.call('ZSCORE', due, name)) or ''
    local count = redis.call('HGET', tries, name) or '0'
    found[#found + 1] = {sequence, element, state, count, at, redis.call('HGET', hints, name) or ''}
  end
end
return {epoch, applied, origin, (last + 1 < known) and (last + 1) or -1, found}
