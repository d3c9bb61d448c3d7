-- The states of URLs: ARGV = keys of 8 bytes, one after the other. Gives a digit for each, or - if it is not known.
local found = {}
for i = 1, #ARGV[1], 8 do
  local _, state = entry_of(string.sub(ARGV[1], i, i + 7))
  found[#found + 1] = state or '-'
end
return {epoch, applied, table.concat(found)}
