-- Takes jobs from queues by turns between their callers. Stands before turn.lua in pools that ask for it, and while any queue keeps jobs so sorted.
-- A queue is the intake: its jobs go into a list for each caller, and the callers stand in a ring. A caller that is new comes last in it.
local left_to_sort = 256

local function put(queue, caller, id, again)
  local list = fair_part(queue, 'of:' .. caller)
  local length = try(again and 'RPUSH' or 'LPUSH', list, id)
  if not length then -- Only an outsider makes this key anything but a list.
    redis.call('DEL', list)
    length = redis.call('LPUSH', list, id)
  end
  if length == 1 then redis.call('LPUSH', fair_part(queue, 'ring'), caller) end
end

local function sort(queue)
  local ids, back = left_to_sort > 0 and try('RPOP', queue, left_to_sort) or {}, {}
  if #ids == 0 then return end
  left_to_sort = left_to_sort - #ids
  for _, id in ipairs(ids) do
    local job = is_uuid(id) and try('HMGET', job_prefix .. id, 'caller_id', 'started_at', 'failures') or {}
    local caller = redis.sha1hex(job[1] or '')
    if job[2] and not job[3] then
      -- It was given back, so it is the next of its caller.
      table.insert(back, 1, { caller, id })
    else
      put(queue, caller, id)
    end
  end
  for _, entry in ipairs(back) do put(queue, entry[1], entry[2], true) end
  redis.call('INCRBY', fair_part(queue, 'held'), #ids)
  redis.call('SADD', fair_key, queue)
end

-- The next id of a queue. Without `sorts` the jobs that are sorted already go first, and then the queue as it is.
local function take_in_turn(queue, sorts)
  if sorts then sort(queue) end
  local ring = fair_part(queue, 'ring')
  while true do
    local caller = try('LMOVE', ring, ring, 'RIGHT', 'LEFT')
    if not caller then break end
    local list = fair_part(queue, 'of:' .. caller)
    local id = try('RPOP', list)
    -- Only an outsider makes this key anything but a list.
    if not id then redis.call('DEL', list) end
    if redis.call('EXISTS', list) == 0 then redis.call('LREM', ring, 1, caller) end
    if id then
      redis.call('DECR', fair_part(queue, 'held'))
      return id
    end
  end
  if redis.call('SREM', fair_key, queue) == 1 then redis.call('DEL', fair_part(queue, 'held')) end
  return not sorts and try('RPOP', queue)
end
