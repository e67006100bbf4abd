-- Backward steps of the clock of Redis.
--
-- `hero:meta:reaped` has the time of the last check of leases. If it is in the future, the clock was set back since.
-- Without correction, anything with a delay would be due only when the clock shows that time again. So that call makes
-- leases end as much sooner, and each call searches a part of everything else that waits for a delay: an entry from a
-- time in the future counts as entered now, so nothing waits for more than its own delay once more. Anything that is
-- due at a given time is done when the clock shows that time.
--
-- The time itself is not held back until the clock reaches it again: after an erroneous step forward, nothing would end
-- for as long as that step was.
local try = commands.try
local clock_step = {}

-- The minimum size of a backward step, ms: a well-kept clock stays below it.
local A_LITTLE = 1000
-- The number of leases that a call ends sooner, and the number of entries that it checks.
local MOST_LEASES, MAX_ENTRIES_CHECKED = 10000, 64
-- The time for which the note is kept, s. Without a note, nobody has checked for long.
local KEPT = 86400
-- The time within which a queued job is checked again, ms.
local SOON = 60000

-- Enters a job anew that waits for its next attempt, or to be given up. `back`: the size of the step, ms.
local function look_at_job(id, due, back)
  local key = keys.job(id)
  local updated_at, run_at = unpack(try('HMGET', key, 'updated_at', 'run_at_ms') or {})
  local ahead = math.min((time.millis(updated_at or nil) or 0) - request.now, back)
  if ahead <= A_LITTLE or tonumber(run_at or nil) == due then return end
  redis.call('ZADD', keys.scheduled, 'XX', values.digits(due - ahead), id)
  redis.call('HSET', key, 'updated_at', request.now_text)
end

local function look_at_message(element, over, back)
  local key = messages.key(element)
  local updated_at = messages.is_element(element) and try('HGET', key, 'updated_at') or nil
  local ahead = math.min(values.number(updated_at, 0) * 1000 - request.now, back)
  if ahead <= A_LITTLE then return end
  messages.await_until(element, over - ahead)
  redis.call('HSET', key, 'updated_at', coordinator.seconds())
end

-- Nothing says when it was entered.
local function look_at_watched(id) redis.call('ZADD', keys.watched, 'XX', 'LT', request.digits_in(SOON), id) end

-- The sets that are searched, and the function for each entry.
local WALKS = {
  { set = 'scheduled', look_at = look_at_job },
  { set = 'open_messages', look_at = look_at_message },
  { set = 'watched', look_at = look_at_watched },
}

-- Returns the note: the time of the last check of leases and the time until which none expires, ms; the size of the
-- step, if the search is not complete; the set that is being searched, and the position in it.
function clock_step.last_look()
  local at, grace, back, walk, cursor = string.match(try('GET', keys.reaped) or '', '^(%d+) (%d+) ?(%d*) ?(%d*) ?(%d*)$')
  return {
    at = tonumber(at or 0), grace = tonumber(grace or 0), back = tonumber(back or 0) or 0, walk = tonumber(walk or nil), cursor = cursor,
  }
end

-- Notes the result of a check, if it is new.
function clock_step.note(look)
  if math.abs(request.now - look.at) < A_LITTLE and not look.is_news then return end
  local noted = string.format('%.0f %.0f', request.now, look.grace)
  if look.walk then noted = string.format('%s %.0f %d %s', noted, look.back, look.walk, look.cursor) end
  redis.call('SET', keys.reaped, noted, 'EX', KEPT)
end

-- True if the clock was set back after a check.
function clock_step.is_behind(look) return look.at > request.now + A_LITTLE end

-- Does the next part of the work after a backward step of the clock. `lease`: the length of a lease, ms.
function clock_step.tend(look, lease)
  if clock_step.is_behind(look) then
    local back = look.at - request.now
    leases.end_sooner(back, lease, MOST_LEASES)
    look.back, look.walk, look.cursor = look.back + back, 1, '0'
  end
  local walk = WALKS[look.walk]
  if not walk then return end
  local cursor, entries = unpack(try('ZSCAN', keys[walk.set], look.cursor, 'COUNT', MAX_ENTRIES_CHECKED) or { '0', {} })
  for at = 1, #entries, 2 do walk.look_at(entries[at], tonumber(entries[at + 1]), look.back) end
  look.is_news, look.cursor = true, cursor
  if cursor == '0' then look.walk = WALKS[look.walk + 1] and look.walk + 1 end
  if not look.walk then look.back = 0 end
end

return clock_step
