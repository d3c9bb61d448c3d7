-- URLs with all that is known of them, from another host or from the database: ARGV = epoch, the batch that must be
-- the last applied, the one that is applied after this ('' if more follows), 1 if the newer state of a known URL
-- holds; then of each URL its element, state with tries and time, and hints.
if epoch ~= ARGV[1] then return 'LOST' end
if ARGV[3] ~= '' and applied >= tonumber(ARGV[3]) then return 'DONE' end
if applied ~= tonumber(ARGV[2]) then return 'GAP' end
for i = 5, #ARGV, 3 do
  local key = string.sub(ARGV[i], 1, 8)
  local state, count, at = struct.unpack('>BI2d', ARGV[i + 1])
  if add(ARGV[i], state, state == QUEUED and at == 0) then
    if state == QUEUED and at > 0 then
      put_off(known - 1, at, count)
    elseif state == QUEUED and count > 0 then
      redis.call('HSET', tries, name_of(known - 1), count)
    end
    if ARGV[i + 2] ~= '' then redis.call('HSET', hints, name_of(known - 1), ARGV[i + 2]) end
  elseif ARGV[4] == '1' then
    flush()
    local sequence, before, bucket = entry_of(key)
    change(key, sequence, before, state, bucket)
  end
end
flush()
save(ARGV[3] ~= '' and ARGV[3] or applied)
return 'OK'
