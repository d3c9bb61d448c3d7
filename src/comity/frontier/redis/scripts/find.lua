-- One URL: ARGV = its key. Gives its element, state, tries, time and hints, or nothing.
local sequence, state = entry_of(ARGV[1])
if not sequence then return {epoch, applied, origin} end
local name = name_of(sequence)
local at = redis.call('ZSCORE', later, name) or redis.call('ZSCORE', due, name) or ''
local count = redis.call('HGET', tries, name) or '0'
return {epoch, applied, origin, element_of(sequence), state, count, at, redis.call('HGET', hints, name) or ''}
