-- The front of the queue: ARGV = how many to pass over, how many to give, the time, how many may be moved for it.
-- Gives the elements and their tries; nothing else if more must be moved first.
local now, most = ARGV[3], ARGV[4]
local more = false
if waiting then
  local ripe = redis.call('ZRANGEBYSCORE', later, '-inf', now, 'WITHSCORES', 'LIMIT', 0, most)
  for i = 1, #ripe, 2 do
    redis.call('ZADD', due, ripe[i + 1], ripe[i])
    redis.call('ZADD', queue, rank_of(element_of(struct.unpack('>I6', ripe[i]))), ripe[i])
    redis.call('ZREM', later, ripe[i])
  end
  -- Another worker's clock may have been ahead of this one.
  local unripe = redis.call('ZRANGEBYSCORE', due, '(' .. now, '+inf', 'WITHSCORES', 'LIMIT', 0, most)
  for i = 1, #unripe, 2 do
    redis.call('ZADD', later, unripe[i + 1], unripe[i])
    redis.call('ZREM', queue, unripe[i])
    redis.call('ZREM', due, unripe[i])
  end
  more = math.max(#ripe, #unripe) >= 2 * tonumber(most)
end
if more then return {epoch, applied, origin, 1, {}, {}} end
local first = tonumber(ARGV[1])
local names = redis.call('ZRANGE', queue, first, first + tonumber(ARGV[2]) - 1)
local elements, tried = {}, {}
local number, chunk
for i, name in ipairs(names) do
  local sequence = struct.unpack('>I6', name)
  local place = math.floor(sequence / PER)
  if place == number then  -- neighbours in age are neighbours in a list: read it once
    chunk = chunk or redis.call('LRANGE', data .. ':u:' .. place, 0, -1)
    elements[i] = chunk[sequence % PER + 1]
  else
    number, chunk = place, nil
    elements[i] = element_of(sequence)
  end
end
if trying and #names > 0 then tried = redis.call('HMGET', tries, unpack(names)) end
return {epoch, applied, origin, 0, elements, tried}
