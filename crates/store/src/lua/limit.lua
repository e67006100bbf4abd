-- Keeps the number of running jobs of a context within its limit. Jobs that are away run elsewhere, and count there.
local insist = commands.insist
local limit = {}

-- The time that a script type waits in line while its pools do not come, because their actors are gone, ms.
local PATIENCE = 5000
-- The time for which the line is kept, s.
local LINE_SECONDS = 10

-- The number of jobs that a pool may take if at most `most` may run in the context. Room is left to the script types
-- before its own in the line, and these are woken.
function limit.share_of(most, script_type, wanted)
  local free = most - leases.here()
  insist('ZREMRANGEBYSCORE', keys.capped, '-inf', request.now - PATIENCE)
  -- Entries from before a backward step of the clock.
  redis.call('ZREMRANGEBYSCORE', keys.capped, '(' .. request.digits_in(PATIENCE), '+inf')
  for _, other in ipairs(redis.call('ZRANGE', keys.capped, 0, -1)) do
    if other == script_type then break end
    if free > 0 then redis.call('PUBLISH', keys.wake_up(other), '') end
    free = free - 1
  end
  return math.max(math.min(wanted, free), 0)
end

-- True if queues have more jobs to take, if there were room in the context.
function limit.have_more(served, paused)
  for _, queue in ipairs(served) do
    if not (paused and queues.is_paused(queue)) and redis.call('EXISTS', queue, keys.fair_part(queue, 'ring')) > 0 then
      return true
    end
  end
  return false
end

-- Puts a script type in line for room in its context: behind the others if it got some room, or removes it from the
-- line.
function limit.stand_in_line(script_type, stands, got_some)
  if got_some or not stands then redis.call('ZREM', keys.capped, script_type) end
  if stands then
    -- Two that come in the same millisecond are in order, too.
    local last = unpack(redis.call('ZREVRANGE', keys.capped, 0, 0, 'WITHSCORES'), 2)
    redis.call('ZADD', keys.capped, 'NX', math.max(request.now, (tonumber(last) or 0) + 1), script_type)
    redis.call('EXPIRE', keys.capped, LINE_SECONDS)
  end
end

-- Jobs may be created at once after a pause: those of this time, ms.
local BURST = 1000
-- Smaller differences than this, ms, are no step of the clock.
local SET_BACK = 5000

-- The time up to which the allowed jobs are used up, ms. It is stored with the time of the note, so that a clock that
-- was set back since then delays nobody.
local function used_up()
  local to, at = string.match(commands.try('GET', keys.rate) or '', '^([%d.]+) (%d+)$')
  if not tonumber(to) or tonumber(at) > request.now + SET_BACK then return request.now end
  return math.max(tonumber(to), request.now)
end

-- The answer that `many` jobs are more than may be created now; nil if they may. 0 per second is no limit. Jobs that
-- are created together and are more than those of a second wait until nothing is used up, and then use up as many
-- seconds as they take.
function limit.too_fast(per_second, many)
  if per_second == 0 then return nil end
  local wait = used_up() - request.now + math.min(many * 1000 / per_second, BURST) - BURST
  if wait <= 0 then return nil end
  return { 'slow', values.digits(math.ceil(wait)) }
end

-- Notes that jobs were created.
function limit.note_created(per_second, many)
  if per_second == 0 then return end
  -- A job may take less than a millisecond.
  local to = used_up() + many * 1000 / per_second
  local noted = string.format('%.3f %.0f', to, request.now)
  commands.insist('SET', keys.rate, noted, 'PX', math.max(math.ceil(to - request.now), 1))
end

return limit
