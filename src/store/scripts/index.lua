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

-- Whether a job may pass the filter that stands in the arguments from a place on: the number of its conditions, each: field · how · text.
-- False is certain. What outsiders wrote in forms of their own passes, and the caller looks closer.
--   'is'      the value is this text              'status'  the status is this one
--   'from'    the time is this one or later       'until'   it is earlier
--   'label'   the JSON of the labels has this member
local function filter_from(place)
  local KNOWN = {
    created = true, scheduled = true, waiting_for_prerequisites = true, dispatched = true, started = true, finished = true, error = true,
  }
  local number_of, LONG = tonumber(ARGV[place]), 65536
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
    if how == 'label' then
      if size > LONG then return true end
      local labels = redis.call('HGET', key, field)
      if string.find(labels, text, 1, true) then return true end
      -- It may be there in another form than ours.
      return (string.find(labels, '\\', 1, true) or string.find(labels, '"%s*:%s+"') or string.find(labels, '"%s+:')) ~= nil
    end
    if size ~= 24 then return true end
    local time = redis.call('HGET', key, field)
    if not string.find(time, '^%d%d%d%d%-%d%d%-%d%dT%d%d:%d%d:%d%d%.%d%d%dZ$') then return true end
    if how == 'from' then return time >= text end
    return time < text
  end
  if number_of == 0 then return function(key) return redis.call('EXISTS', key) == 1 end end
  return function(key)
    for condition = 0, number_of - 1 do
      local at = place + 1 + 3 * condition
      if not holds(key, ARGV[at], ARGV[at + 1], ARGV[at + 2]) then return false end
    end
    return true
  end
end
