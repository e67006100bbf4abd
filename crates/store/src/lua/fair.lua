-- Takes jobs from queues so that their callers take turns. The jobs of a queue move into a list for each caller, and
-- the callers form a ring. A new caller comes last in the ring.
local try, insist = commands.try, commands.insist
local fair = {}

-- The number of jobs that are sorted in a call, and of callers without jobs in the rings that are asked for one.
local MOST_SORTED, MOST_CALLERS = 256, 256
local left_to_sort, left_to_ask = 0, 0

-- By queue, the callers that were put into its ring in this call, if there was no ring before.
local anew = {}

-- Begins a fetch.
function fair.begin() left_to_sort, left_to_ask, anew = MOST_SORTED, MOST_CALLERS, next(anew) and {} or anew end

-- True if a foreign program added so many callers without jobs that the next fetch has to go on.
function fair.has_more() return left_to_ask == 0 end

local function put(queue, caller, id, again)
  local list = keys.fair_part(queue, 'of:' .. caller)
  local length = try(again and 'RPUSH' or 'LPUSH', list, id)
  if not length then -- Only a foreign program makes this key anything but a list.
    commands.give_way(list)
    length = redis.call('LPUSH', list, id)
  end
  local ring = anew[queue]
  if ring and ring[caller] or not ring and length > 1 then return end
  redis.call('LPUSH', keys.fair_part(queue, 'ring'), caller)
  if ring then ring[caller] = true end
end

-- Counts the sorted jobs of a queue. A value that is no number counts as 0.
local function count_sorted(queue, by)
  local key = keys.fair_part(queue, 'held')
  if not try('INCRBY', key, by) then redis.call('SET', key, math.max(by, 0)) end
end

local read_caller = jobs.reader('caller_id', 'started_at', 'failures')

local function sort(queue)
  local ids, back = left_to_sort > 0 and try('RPOP', queue, left_to_sort) or {}, {}
  if #ids == 0 then return end
  left_to_sort = left_to_sort - #ids
  local ring = keys.fair_part(queue, 'ring')
  local is = redis.call('TYPE', ring).ok
  -- Only a foreign program makes this key anything but a list. Then callers have jobs here and are in no ring.
  if is ~= 'none' and is ~= 'list' then commands.give_way(ring) end
  if is ~= 'list' then anew[queue] = {} end
  for _, id in ipairs(ids) do
    local job = values.is_uuid(id) and read_caller(id) or {}
    local caller = redis.sha1hex(job.caller_id or '')
    if job.started_at and not job.failures then
      -- It was requeued, so it is the next job of its caller.
      table.insert(back, 1, { caller = caller, id = id })
    else
      put(queue, caller, id)
    end
  end
  for _, entry in ipairs(back) do put(queue, entry.caller, entry.id, true) end
  anew[queue] = nil
  count_sorted(queue, #ids)
  insist('SADD', keys.fair, queue)
end

-- Returns the next id of a queue. Without `sorts`, the jobs that are already sorted go first, and then the queue as it
-- is.
function fair.take(queue, sorts)
  if sorts then sort(queue) end
  local ring = keys.fair_part(queue, 'ring')
  while left_to_ask > 0 do
    local caller = try('LMOVE', ring, ring, 'RIGHT', 'LEFT')
    if not caller then
      -- Nil instead of false: a foreign program made it anything but a list.
      if caller == nil then commands.give_way(ring) end
      break
    end
    local list = keys.fair_part(queue, 'of:' .. caller)
    local id = try('RPOP', list)
    -- Nil as above.
    if id == nil then commands.give_way(list) end
    if redis.call('EXISTS', list) == 0 then redis.call('LREM', ring, 1, caller) end
    if id then
      count_sorted(queue, -1)
      return id
    end
    left_to_ask = left_to_ask - 1
  end
  if left_to_ask == 0 then return false end
  if insist('SREM', keys.fair, queue) == 1 then redis.call('DEL', keys.fair_part(queue, 'held')) end
  return not sorts and try('RPOP', queue)
end

return fair
