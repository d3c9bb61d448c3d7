-- What every script begins with: one host's frontier, opened. KEYS[1] is the host's stem; every key that a script
-- touches begins with it, so that all lie in the slot of its hash tag.
--
-- stem              hash: epoch, applied (last batch), known, buckets, n0 n1 n2 n3 (URLs in each state), origin
-- stem:epoch:e:N    hash of a bucket: key (8 bytes) -> sequence number (6) and state (1); small, so kept packed
-- stem:epoch:u:N    list of 64: key (8), depth (4), priority (4), found by (1), found on (8), and the URL, by sequence
--                   number
-- stem:epoch:q      sorted set of those that are ready: sequence number by rank
-- stem:epoch:l, :d  sorted sets by time: put off; and put off, but due, hence in :q, too
-- stem:epoch:x      sorted set by depth of those that are too deep: sequence number
-- stem:epoch:t, :h  hashes by sequence number: tries, if any; what a sitemap says, if anything
local QUEUED, DONE, DROPPED, TOO_DEEP = 0, 1, 2, 3
local PER = 64
local HEAD = 25  -- bytes before the URL
local stem = KEYS[1]
local said = redis.call('HMGET', stem, 'epoch', 'applied', 'known', 'buckets', 'n0', 'n1', 'n2', 'origin', 'n3')
local epoch, applied = said[1], tonumber(said[2] or '-1')
local known, buckets = tonumber(said[3] or '0'), tonumber(said[4] or '1')
local counts = {[0] = tonumber(said[5] or '0'), [1] = tonumber(said[6] or '0'), [2] = tonumber(said[7] or '0')}
local origin = said[8] or ''
counts[3] = tonumber(said[9] or '0')
local data, queue, later, due, tries, hints, deep
local whole, waiting, trying

local function open()
  data = stem .. ':' .. (epoch or '')
  queue, later, due = data .. ':q', data .. ':l', data .. ':d'
  tries, hints, deep = data .. ':t', data .. ':h', data .. ':x'
  whole = 1
  while whole * 2 <= buckets do whole = whole * 2 end
  waiting = redis.call('EXISTS', later, due) > 0
  trying = redis.call('EXISTS', tries) > 0
end
open()

local function save(batch)
  redis.call('HSET', stem, 'epoch', epoch, 'applied', batch, 'known', known, 'buckets', buckets,
    'n0', counts[0], 'n1', counts[1], 'n2', counts[2], 'n3', counts[3], 'origin', origin)
end

-- Whether a batch must not be applied now: it was already, others are missing before it, or this is another life.
local function refusal(asked, batch)
  if not epoch and batch == 1 then
    epoch, applied = asked, 0
    open()
    return nil
  end
  if epoch ~= asked then return 'LOST' end
  if applied >= 0 and batch <= applied then return 'DONE' end
  if applied < 0 or batch > applied + 1 then return 'GAP' end
  return nil
end

-- Linear hashing: buckets are split one at a time, so that none grows with the host.
local function bucket_of(key)
  local hash = struct.unpack('>I4', key, 5)
  local place = hash % (whole * 2)
  if place >= buckets then place = hash % whole end
  return data .. ':e:' .. place
end

local function split()
  local old = data .. ':e:' .. (buckets - whole)
  local pairs_of_it = redis.call('HGETALL', old)
  buckets = buckets + 1
  if whole * 2 <= buckets then whole = whole * 2 end
  local moved, gone = {}, {}
  for i = 1, #pairs_of_it, 2 do
    if bucket_of(pairs_of_it[i]) ~= old then
      gone[#gone + 1] = pairs_of_it[i]
      moved[#moved + 1] = pairs_of_it[i]
      moved[#moved + 1] = pairs_of_it[i + 1]
    end
  end
  local new = data .. ':e:' .. (buckets - 1)
  for i = 1, #gone, 1000 do
    redis.call('HDEL', old, unpack(gone, i, math.min(i + 999, #gone)))
    redis.call('HSET', new, unpack(moved, 2 * i - 1, math.min(2 * i + 1998, #moved)))
  end
end

local function entry_of(key)
  local bucket = bucket_of(key)
  local value = redis.call('HGET', bucket, key)
  if not value then return nil end
  local sequence, state = struct.unpack('>I6B', value)
  return sequence, state, bucket
end

local function name_of(sequence) return struct.pack('>I6', sequence) end

-- What was added and not yet written: many URLs with one command.
local pushed, pushed_at, ranked = {}, 0, {}

local function push()
  if #pushed > 0 then redis.call('RPUSH', data .. ':u:' .. pushed_at, unpack(pushed)) end
  pushed = {}
end

local function flush()
  push()
  for i = 1, #ranked, 1000 do redis.call('ZADD', queue, unpack(ranked, i, math.min(i + 999, #ranked))) end
  ranked = {}
end

local function element_of(sequence)
  return redis.call('LINDEX', data .. ':u:' .. math.floor(sequence / PER), sequence % PER)
end

-- Priority and depth in the 53 bits that a score has; age is the sequence number, compared as text.
local function rank_of(element)
  local depth, priority = struct.unpack('>i4i4', element, 9)
  return math.min(depth, 2097151) - priority * 2097152
end

-- Make a URL ready, to be flushed.
local function rank(element, name)
  ranked[#ranked + 1] = rank_of(element)
  ranked[#ranked + 1] = name
end

-- Add a URL that is not known, to be flushed; false if it is known.
local function add(element, state, is_ready)
  if known >= buckets * PER then split() end
  local key = string.sub(element, 1, 8)
  if redis.call('HSETNX', bucket_of(key), key, struct.pack('>I6B', known, state)) == 0 then return false end
  local url = string.sub(element, HEAD + 1)
  if origin == '' then origin = string.match(url, '^%a[%w+.-]*://[^/?#]*') or '' end
  local stored = string.sub(element, 1, HEAD)
  if origin ~= '' and string.sub(url, 1, #origin) == origin then
    stored = stored .. '\0' .. string.sub(url, #origin + 1)
  else
    stored = stored .. '\1' .. url
  end
  local place = math.floor(known / PER)
  if place ~= pushed_at then push() end
  pushed_at = place
  pushed[#pushed + 1] = stored
  if is_ready then rank(element, name_of(known)) end
  if state == TOO_DEEP then redis.call('ZADD', deep, struct.unpack('>i4', element, 9), name_of(known)) end
  known = known + 1
  counts[state] = counts[state] + 1
  return true
end

-- Bring a URL to another state. Waits and tries end with being queued.
local function change(key, sequence, before, after, bucket)
  if before == after then return end
  redis.call('HSET', bucket, key, struct.pack('>I6B', sequence, after))
  local name = name_of(sequence)
  if before == TOO_DEEP then redis.call('ZREM', deep, name) end
  if after == TOO_DEEP then redis.call('ZADD', deep, struct.unpack('>i4', element_of(sequence), 9), name) end
  if before == QUEUED then
    redis.call('ZREM', queue, name)
    if waiting then
      redis.call('ZREM', later, name)
      redis.call('ZREM', due, name)
    end
    if trying then redis.call('HDEL', tries, name) end
  end
  if after == QUEUED then redis.call('ZADD', queue, rank_of(element_of(sequence)), name) end
  counts[before] = counts[before] - 1
  counts[after] = counts[after] + 1
end

-- Queue a URL that was too deep where it was found before, and was found nearer to a seed.
local function lift(element)
  local key = string.sub(element, 1, 8)
  local sequence, state, bucket = entry_of(key)
  if state ~= TOO_DEEP then return end
  local stored = element_of(sequence)
  local moved = string.sub(element, 1, 16) .. string.sub(stored, 17)
  redis.call('LSET', data .. ':u:' .. math.floor(sequence / PER), sequence % PER, moved)
  change(key, sequence, TOO_DEEP, QUEUED, bucket)
end

local function put_off(sequence, at, count)
  local name = name_of(sequence)
  redis.call('ZREM', queue, name)
  redis.call('ZREM', due, name)
  redis.call('ZADD', later, at, name)
  if count > 0 then
    redis.call('HINCRBY', tries, name, count)
    trying = true
  end
  waiting = true
end
