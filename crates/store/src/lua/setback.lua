-- Setbacks of the clock of Redis.
--
-- `hero:meta:reaped` says when leases were last looked at. If that is yet to come, the clock was set back since. What is over after a while
-- would be so when the clock shows a time once more that it has shown already. So leases end as much sooner, in that call, and what else
-- waits for a while is looked through, some of it with each call: what was entered at a time that is yet to come was entered now, so that
-- nothing waits for longer than once more as long as it was to wait. What is to be done at a time is done when the clock shows that.
--
-- The time itself is not held back until it is reached again: after a step forward by mistake nothing would end for as long as that was.
local try = commands.try
local setback = {}

-- By less a clock is not set back that is kept right, ms.
local A_LITTLE = 1000
-- So many leases end sooner in a call, and so many entries are looked at in one.
local MOST_LEASES, LOOKED_AT = 10000, 64
-- How long it is kept what was noted, s. Where it says nothing, nobody has looked for long.
local KEPT = 86400
-- A job in a queue is looked at again within this, ms.
local SOON = 60000

-- Enters a job anew that waits for its next attempt, or to be given up. `back`: by so much the clock was set back, ms.
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

-- What is looked through: the names of the sets, and what is done with each entry.
local WALKS = {
  { set = 'scheduled', look_at = look_at_job },
  { set = 'open_messages', look_at = look_at_message },
  { set = 'watched', look_at = look_at_watched },
}

-- What was noted: when leases were last looked at and until when none is over, ms; by how much the clock was set back, if something is yet
-- to be looked through; in which of those sets, and where.
function setback.last_look()
  local at, grace, back, walk, cursor = string.match(try('GET', keys.reaped) or '', '^(%d+) (%d+) ?(%d*) ?(%d*) ?(%d*)$')
  return {
    at = tonumber(at or 0), grace = tonumber(grace or 0), back = tonumber(back or 0) or 0, walk = tonumber(walk or nil), cursor = cursor,
  }
end

-- Notes what a look has come to, if that is news.
function setback.note(look)
  if math.abs(request.now - look.at) < A_LITTLE and not look.is_news then return end
  local noted = string.format('%.0f %.0f', request.now, look.grace)
  if look.walk then noted = string.format('%s %.0f %d %s', noted, look.back, look.walk, look.cursor) end
  redis.call('SET', keys.reaped, noted, 'EX', KEPT)
end

-- Whether the clock was set back after a look.
function setback.is_behind(look) return look.at > request.now + A_LITTLE end

-- Does the next part of what is to be done after the clock was set back. `lease`: how long one is, ms.
function setback.tend(look, lease)
  if setback.is_behind(look) then
    local back = look.at - request.now
    leases.end_sooner(back, lease, MOST_LEASES)
    look.back, look.walk, look.cursor = look.back + back, 1, '0'
  end
  local walk = WALKS[look.walk]
  if not walk then return end
  local cursor, entries = unpack(try('ZSCAN', keys[walk.set], look.cursor, 'COUNT', LOOKED_AT) or { '0', {} })
  for at = 1, #entries, 2 do walk.look_at(entries[at], tonumber(entries[at + 1]), look.back) end
  look.is_news, look.cursor = true, cursor
  if cursor == '0' then look.walk = WALKS[look.walk + 1] and look.walk + 1 end
  if not look.walk then look.back = 0 end
end

return setback
