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
