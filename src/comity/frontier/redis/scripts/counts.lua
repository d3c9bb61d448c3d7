-- How many URLs are in each state, the earliest time of those put off, the least depth of those too deep, and how many
-- of these lie no deeper than ARGV[1], if that is given.
local first = redis.call('ZRANGE', due, 0, 0, 'WITHSCORES')[2]
local second = redis.call('ZRANGE', later, 0, 0, 'WITHSCORES')[2]
if not first or (second and tonumber(second) < tonumber(first)) then first = second end
local least = redis.call('ZRANGE', deep, 0, 0, 'WITHSCORES')[2]
return {epoch, applied, counts[0], counts[1], counts[2], first or '', counts[3], least or '',
  ARGV[1] and redis.call('ZCOUNT', deep, '-inf', ARGV[1]) or 0}
