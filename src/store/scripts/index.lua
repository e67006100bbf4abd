-- The index of an hour: the ids of its jobs in the order in which they came. Stands behind shared.lua.
-- While ids of jobs that are gone are taken out, the front part of the list stands under a name of its own.

local function front_of(index) return index .. ':front' end

-- How many ids an hour has.
local function index_length(index) return (try('LLEN', front_of(index)) or 0) + (try('LLEN', index) or 0) end

-- The ids from one place up to another, from 0.
local function index_range(index, from, to)
  local front = try('LLEN', front_of(index)) or 0
  if front == 0 then return try('LRANGE', index, from, to) or {} end
  local ids = from < front and try('LRANGE', front_of(index), from, to) or {}
  if to >= front then
    for _, id in ipairs(try('LRANGE', index, math.max(from - front, 0), to - front) or {}) do ids[#ids + 1] = id end
  end
  return ids
end

-- Since when the first job that still exists is in the index, of those from one place up to another, ms, or nil. Looked for only so far.
local function time_at(index, from, to)
  for _, id in ipairs(index_range(index, from, math.min(to, from + 63))) do
    local of = try('HMGET', job_prefix .. id, 'indexed', 'created_at') or {}
    local at = time_listed(of[1], of[2])
    if at then return at end
  end
end

-- Whether labels may have all of some: as JSON texts, name:value, in our form, and as a table of them. False is certain; what cannot be told, or
-- would take long in all, is true.
local function labels_from(texts, entries)
  local LONG, to_search, to_decode = 65536, 16777216, 262144
  local function has(labels, text)
    to_search = to_search - #labels
    return string.find(labels, text, 1, true)
  end
  return function(key)
    local size = try('HSTRLEN', key, 'labels')
    if not size or size == 0 then return false end
    if size > LONG or size > to_search then return true end
    local labels, missing = redis.call('HGET', key, 'labels'), false
    for _, text in ipairs(texts) do
      missing = not has(labels, text)
      if missing then break end
    end
    if not missing then return true end
    -- What is missing may be there in another form than ours.
    if not (has(labels, '\\') or string.find(labels, '"%s*:%s+"') or string.find(labels, '"%s+:')) then return false end
    if size > to_decode then return true end
    to_decode = to_decode - size
    local readable, found = pcall(cjson.decode, labels)
    if not readable or type(found) ~= 'table' then return true end
    for name, value in pairs(entries) do
      local is = found[name]
      if is == nil or type(is) == 'string' and is ~= value then return false end
    end
    return true
  end
end

-- Whether a job may pass the filter that stands in the arguments from a place on: the number of its conditions, each: field · how · text.
-- False is certain. What outsiders wrote in forms of their own may pass, and the caller looks closer.
--   'is'      the value is this text              'status'  the status is this one
--   'from'    the time is this one or later       'until'   it is earlier
--   'label'   the JSON of the labels has this member
local function filter_from(place)
  local KNOWN = {
    created = true, scheduled = true, waiting_for_prerequisites = true, dispatched = true, started = true, finished = true, error = true,
  }
  local conditions, texts = {}, {}
  for at = place + 1, place + 3 * ARGV[place], 3 do
    if ARGV[at + 1] == 'label' then texts[#texts + 1] = ARGV[at + 2]
    else conditions[#conditions + 1] = { ARGV[at], ARGV[at + 1], ARGV[at + 2] }
    end
  end
  local labelled = #texts > 0 and labels_from(texts, cjson.decode('{' .. table.concat(texts, ',') .. '}'))
  local function holds(key, field, how, text)
    local size = try('HSTRLEN', key, field)
    if not size then return false end
    if how == 'is' then return size == #text and redis.call('HGET', key, field) == text end
    if how == 'status' then
      -- A word that nobody knows is that of a foreign actor which runs the job.
      if size == 0 then return text == 'dispatched' and redis.call('EXISTS', key) == 1 end
      if size > 32 then return text == 'started' end
      local word = redis.call('HGET', key, field)
      return word == text or text == 'started' and not KNOWN[word]
    end
    if size == 0 then return false end
    if size ~= 24 then return true end
    local time = redis.call('HGET', key, field)
    if not string.find(time, '^%d%d%d%d%-%d%d%-%d%dT%d%d:%d%d:%d%d%.%d%d%dZ$') then return true end
    if how == 'from' then return time >= text end
    return time < text
  end
  if #conditions == 0 and not labelled then return function(key) return redis.call('EXISTS', key) == 1 end end
  return function(key)
    for _, condition in ipairs(conditions) do
      if not holds(key, unpack(condition)) then return false end
    end
    return not labelled or labelled(key)
  end
end
