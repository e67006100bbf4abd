-- The index of an hour: the ids of its jobs in the order in which they came. While ids of deleted jobs are removed, the
-- front part of the list is under a key of its own.
local try = commands.try
local index = {}

function index.front_of(list) return list .. ':front' end

-- The number of ids of an hour.
function index.length(list) return (try('LLEN', index.front_of(list)) or 0) + (try('LLEN', list) or 0) end

-- The ids from one position to another, from 0.
function index.range(list, from, to)
  local front = try('LLEN', index.front_of(list)) or 0
  if front == 0 then return try('LRANGE', list, from, to) or {} end
  local ids = from < front and try('LRANGE', index.front_of(list), from, to) or {}
  if to >= front then
    for _, id in ipairs(try('LRANGE', list, math.max(from - front, 0), to - front) or {}) do ids[#ids + 1] = id end
  end
  return ids
end

-- The number of ids whose time is looked up.
local LOOKED_AT = 64

-- The time since when the first existing job from one position to another is in the index, ms, or nil. Only the first
-- ids are tried.
function index.time_at(list, from, to)
  for _, id in ipairs(index.range(list, from, math.min(to, from + LOOKED_AT - 1))) do
    local of = try('HMGET', keys.job(id), 'indexed', 'created_at') or {}
    local at = jobs.time_listed(unpack(of, 1, 2))
    if at then return at end
  end
end

return index
