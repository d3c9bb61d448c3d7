-- Keys by age: ARGV = from which list, how many lists.
local found = {}
for number = tonumber(ARGV[1]), tonumber(ARGV[1]) + tonumber(ARGV[2]) - 1 do
  for _, element in ipairs(redis.call('LRANGE', data .. ':u:' .. number, 0, -1)) do
    found[#found + 1] = string.sub(element, 1, 8)
  end
end
return {epoch, applied, table.concat(found)}
