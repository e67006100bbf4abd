-- Slots of schedules: each is fired in the call that stores its job, so that none is fired twice and none is lost.
local try, insist = commands.try, commands.insist
local schedules = {}

-- With overlap 'queue', no more jobs of a schedule wait for each other.
local MOST_WAITING = 100

-- The slots in an argument, by the place of the job they are for. Each is
-- 'place, schedule, slot that is to be next, slot that is fired, slot after it or -, slots that were missed, overlap policy;' (times in ms,
-- spaces between).
function schedules.slots_in(text)
  local slots = {}
  for place, id, expected, fired, following, missed, overlap in string.gmatch(text, '(%d+) (%S+) (%d+) (%d+) (%S+) (%d+) (%l+);') do
    slots[tonumber(place)] =
      { id = id, expected = tonumber(expected), fired = fired, following = following, missed = tonumber(missed), overlap = overlap }
  end
  return slots
end

-- Has a schedule wait for its next slot. One that has none is kept for a while, so that it can be looked at.
function schedules.move_on(slot)
  local following, key = slot.following, keys.schedule(slot.id)
  if following == '-' then
    following = request.now + tonumber(request.keep_error) * 1000
    try('HSET', key, 'ended_at', request.now_text)
  end
  insist('ZADD', keys.schedules, following, slot.id)
  if slot.missed > 0 then commands.increase(key, 'missed', slot.missed) end
end

local function has_ended(id)
  local status = jobs.status(id)
  if not status then return not jobs.exists(id) end
  return values.is_final(status)
end

-- Why the job of a slot is not stored, or nil. With a slot that is left out because of the job before, the schedule moves on.
function schedules.refuse_slot(slot)
  if tonumber(try('ZSCORE', keys.schedules, slot.id) or -1) ~= slot.expected then return { 'fired' } end
  local overlaps = false
  if slot.overlap == 'skip' then
    local last = try('HGET', keys.schedule(slot.id), 'last_job')
    overlaps = last and not has_ended(last)
  elseif slot.overlap == 'queue' then
    local key = keys.schedule_waiting(slot.id)
    local oldest = try('LINDEX', key, 0)
    while oldest and has_ended(oldest) do
      redis.call('LPOP', key)
      oldest = try('LINDEX', key, 0)
    end
    overlaps = (try('LLEN', key) or 0) >= MOST_WAITING
  end
  if overlaps then
    schedules.move_on(slot)
    commands.increase(keys.schedule(slot.id), 'skipped', 1)
    return { 'skipped' }
  end
end

-- Takes note of what became of the job of a slot: the schedule moves on if it is stored.
function schedules.note_slot(slot, job, answer)
  local key, outcome = keys.schedule(slot.id), answer[1]
  if outcome == 'created' then
    schedules.move_on(slot)
    try('HSET', key, 'last_job', job, 'last_slot', slot.fired)
    commands.increase(key, 'runs', 1)
    if slot.overlap == 'queue' then insist('RPUSH', keys.schedule_waiting(slot.id), job) end
  elseif outcome ~= 'fired' and outcome ~= 'skipped' then
    -- A slot that waits for room is not missed.
    try('HSET', key, 'tried_at', request.now_text)
  end
end

return schedules
