-- Keeps the number of running jobs of a context at its limit.
local insist = commands.insist
local limit = {}

-- How long a script type stands in line whose pools do not come, because their actors are gone, ms.
local PATIENCE = 5000
-- How long the line is kept, s.
local LINE_SECONDS = 10

-- How many jobs a pool may take where at most so many may run in the context. Room is left to the script types that stand in line before
-- its own; they are woken.
function limit.share_of(most, script_type, wanted)
  local free = most - redis.call('ZCARD', keys.leases)
  insist('ZREMRANGEBYSCORE', keys.capped, '-inf', request.now - PATIENCE)
  for _, other in ipairs(redis.call('ZRANGE', keys.capped, 0, -1)) do
    if other == script_type then break end
    if free > 0 then redis.call('PUBLISH', keys.wake_up(other), '') end
    free = free - 1
  end
  return math.max(math.min(wanted, free), 0)
end

-- Whether queues hold more to take, were there room in the context.
function limit.have_more(served, paused)
  for _, queue in ipairs(served) do
    if not (paused and queues.is_paused(queue)) and redis.call('EXISTS', queue, keys.fair_part(queue, 'ring')) > 0 then
      return true
    end
  end
  return false
end

-- Has a script type stand in line for room in its context: behind the others if it got some of it, or not at all.
function limit.stand_in_line(script_type, stands, got_some)
  if got_some or not stands then redis.call('ZREM', keys.capped, script_type) end
  if stands then
    -- Two that come in one millisecond stand in order, too.
    local last = unpack(redis.call('ZREVRANGE', keys.capped, 0, 0, 'WITHSCORES'), 2)
    redis.call('ZADD', keys.capped, 'NX', math.max(request.now, (tonumber(last) or 0) + 1), script_type)
    redis.call('EXPIRE', keys.capped, LINE_SECONDS)
  end
end

return limit
