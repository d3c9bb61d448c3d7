-- Keep URLs that lie deeper than is followed: ARGV = epoch, batch, links.
local batch = tonumber(ARGV[2])
local refused = refusal(ARGV[1], batch)
if refused then return refused end
for i = 3, #ARGV do add(ARGV[i], TOO_DEEP, false) end
flush()
save(batch)
return 'OK'
