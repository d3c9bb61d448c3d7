-- Keys of URLs that are too deep: ARGV = how many to pass over, how many to give.
local first = tonumber(ARGV[1])
local found = {}
for _, name in ipairs(redis.call('ZRANGE', deep, first, first + tonumber(ARGV[2]) - 1)) do
  found[#found + 1] = string.sub(element_of(struct.unpack('>I6', name)), 1, 8)
end
return {epoch, applied, table.concat(found)}
