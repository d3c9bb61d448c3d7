-- How many URLs are in each state, and the earliest time of those put off.
local first = redis.call('ZRANGE', due, 0, 0, 'WITHSCORES')[2]
local second = redis.call('ZRANGE', later, 0, 0, 'WITHSCORES')[2]
if not first or (second and tonumber(second) < tonumber(first)) then first = second end
return {epoch, applied, counts[0], counts[1], counts[2], first or ''}
