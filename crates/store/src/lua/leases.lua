-- Leases: the holder of a job, and the end of its time.
--
-- `hero:q:leases` has all of them by their end. The lease of a job that is away (its runner is elsewhere) has a much
-- later time, so that it is after all others. So one command counts the jobs that run here, and no second list can
-- differ from the first.
local leases = {}

-- The difference, ms; and the border between both kinds of leases, as commands take it.
leases.AWAY = 1e14
local LAST_HERE, FIRST_AWAY = '(100000000000000', '100000000000000'
-- The number of entries that one command adds.
local TOGETHER = 1000

-- The number of jobs of the context that run here: with actors, on any machine.
function leases.here() return redis.call('ZCOUNT', keys.leases, '-inf', LAST_HERE) end

-- The number of jobs that are away.
function leases.away() return redis.call('ZCOUNT', keys.leases, FIRST_AWAY, '+inf') end

-- The end of a lease by its entry, ms.
function leases.over_at(entered) return entered < leases.AWAY and entered or entered - leases.AWAY end

-- At most `most` jobs whose lease has expired.
function leases.over(most)
  local over = redis.call('ZRANGEBYSCORE', keys.leases, '-inf', request.now, 'LIMIT', 0, most)
  local away = redis.call('ZRANGEBYSCORE', keys.leases, FIRST_AWAY, values.digits(leases.AWAY + request.now), 'LIMIT', 0, most - #over)
  for _, id in ipairs(away) do over[#over + 1] = id end
  return over
end

-- After the clock was set back by `ms`: ends leases that had not expired before as much sooner, at most `most` of each
-- kind. Others had expired, or have been entered just now: these end within `lease`, ms.
function leases.end_sooner(ms, lease, most)
  for base, last in pairs({ [0] = LAST_HERE, [leases.AWAY] = '+inf' }) do
    local from = '(' .. values.digits(base + request.now)
    local entries = redis.call('ZRANGEBYSCORE', keys.leases, from, last, 'WITHSCORES', 'LIMIT', 0, most)
    for first = 1, #entries, 2 * TOGETHER do
      local sooner = {}
      for at = first, math.min(first + 2 * TOGETHER, #entries + 1) - 1, 2 do
        local over = tonumber(entries[at + 1])
        if over > base + request.now + ms then over = over - ms
        elseif base == 0 then over = math.min(over, request.now + lease)
        end
        sooner[#sooner + 1], sooner[#sooner + 2] = values.digits(over), entries[at]
      end
      redis.call('ZADD', keys.leases, 'XX', unpack(sooner))
    end
  end
end

-- The end of the first lease, ms; nil: there is none.
function leases.first_over()
  local first
  for _, from in ipairs({ '-inf', FIRST_AWAY }) do
    local _, entered = unpack(commands.try('ZRANGE', keys.leases, from, '+inf', 'BYSCORE', 'LIMIT', 0, 1, 'WITHSCORES') or {})
    local at = tonumber(entered) and leases.over_at(tonumber(entered))
    if at and (not first or at < first) then first = at end
  end
  return first
end

return leases
