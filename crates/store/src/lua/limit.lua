-- Keeps the number of running jobs of a context at its limit. Those that are away run elsewhere, and count there.
local insist = commands.insist
local limit = {}

-- How long a script type stands in line whose pools do not come, because their actors are gone, ms.
local PATIENCE = 5000
-- How long the line is kept, s.
local LINE_SECONDS = 10

-- How many jobs a pool may take where at most so many may run in the context. Room is left to the script types that stand in line before
-- its own; they are woken.
function limit.share_of(most, script_type, wanted)
  local free = most - leases.here()
  insist('ZREMRANGEBYSCORE', keys.capped, '-inf', request.now - PATIENCE)
  -- They stand there since before the clock of Redis was set back.
  redis.call('ZREMRANGEBYSCORE', keys.capped, '(' .. request.digits_in(PATIENCE), '+inf')
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

-- How many jobs may be created at once after a while without any: those of so long, ms.
local BURST = 1000
-- Further back than this, ms, the clock of Redis goes only when somebody sets it.
local SET_BACK = 5000

-- Up to when what may be created is used up, ms. It stands there with the time at which it was noted: a clock that was set back since then
-- keeps nobody waiting.
local function used_up()
  local to, at = string.match(commands.try('GET', keys.rate) or '', '^([%d.]+) (%d+)$')
  if not tonumber(to) or tonumber(at) > request.now + SET_BACK then return request.now end
  return math.max(tonumber(to), request.now)
end

-- That so many jobs are more than may be created now, as an answer; nil if they may. 0 a second is no limit. Those that are created
-- together and are more than those of a second have to wait until nothing is used up, and then use up as many seconds as they take.
function limit.too_fast(per_second, many)
  if per_second == 0 then return nil end
  local wait = used_up() - request.now + math.min(many * 1000 / per_second, BURST) - BURST
  if wait <= 0 then return nil end
  return { 'slow', values.digits(math.ceil(wait)) }
end

-- Notes that so many jobs were created.
function limit.note_created(per_second, many)
  if per_second == 0 then return end
  -- A job may take less than a millisecond.
  local to = used_up() + many * 1000 / per_second
  local noted = string.format('%.3f %.0f', to, request.now)
  commands.insist('SET', keys.rate, noted, 'PX', math.max(math.ceil(to - request.now), 1))
end

return limit
