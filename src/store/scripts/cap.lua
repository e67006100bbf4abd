-- Keeps the number of running jobs of a context at its limit. Stands before turn.lua where there is one.

-- How many jobs a pool may take where at most so many may run in the context. Room is left to the script types that stand in line before its own;
-- they are woken. One that does not come for its room, because its actors are gone, loses its place after 5 s.
local function share_of(most, script_type, wanted)
  local free = most - redis.call('ZCARD', leases_key)
  insist('ZREMRANGEBYSCORE', capped_key, '-inf', now - 5000)
  for _, other in ipairs(redis.call('ZRANGE', capped_key, 0, -1)) do
    if other == script_type then break end
    if free > 0 then redis.call('PUBLISH', bell(other), '') end
    free = free - 1
  end
  return math.max(math.min(wanted, free), 0)
end

-- Whether the first so many queues of a list hold more to take, were there room in the context.
local function hold_more(keys, queues, paused)
  for at = 1, queues do
    local queue = keys[at]
    if not (paused and is_paused(queue)) and redis.call('EXISTS', queue, fair_part(queue, 'ring')) > 0 then return true end
  end
  return false
end

-- Has a script type stand in line for room in its context: behind the others if it got some of it, or not at all.
local function stand_in_line(script_type, stands, got_some)
  if got_some or not stands then redis.call('ZREM', capped_key, script_type) end
  if stands then
    -- Two that come in one millisecond stand in order, too.
    local last = redis.call('ZREVRANGE', capped_key, 0, 0, 'WITHSCORES')[2]
    redis.call('ZADD', capped_key, 'NX', math.max(now, (tonumber(last) or 0) + 1), script_type)
    redis.call('EXPIRE', capped_key, 10)
  end
end
