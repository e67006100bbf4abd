-- Slots of schedules: each is fired in the script that stores its job, so that none is fired twice and none is lost. Stands behind shared.lua.

-- The slots in an argument, by the place of the job they are for. Each is
-- 'place, schedule, slot that is to be next, slot that is fired, slot after it or -, slots passed over, overlap policy;' (times in ms, spaces between).
local function slots_in(text)
  local slots = {}
  for place, id, expected, fired, following, passed, overlap in string.gmatch(text, '(%d+) (%S+) (%d+) (%d+) (%S+) (%d+) (%l+);') do
    slots[tonumber(place)] =
      { id = id, expected = tonumber(expected), fired = fired, following = following, passed = tonumber(passed), overlap = overlap }
  end
  return slots
end

-- Has a schedule wait for its next slot. One that has none is kept for a while, so that it can be looked at.
local function move_on(slot)
  local following, key = slot.following, schedule_key(slot.id)
  if following == '-' then
    following = now + tonumber(ARGV[7]) * 1000
    try('HSET', key, 'ended_at', now_text)
  end
  insist('ZADD', schedules_key, following, slot.id)
  if slot.passed > 0 then increase(key, 'missed', slot.passed) end
end

-- Why the job of a slot is not stored, or nil. With a slot that is left out because of the job before, the schedule moves on.
local function refuse_slot(slot)
  if tonumber(try('ZSCORE', schedules_key, slot.id) or -1) ~= slot.expected then return { 'fired' } end
  local function has_ended(id)
    local status = try('HGET', job_prefix .. id, 'status')
    if not status then return redis.call('EXISTS', job_prefix .. id) == 0 end
    return is_final(status)
  end
  local overlaps = false
  if slot.overlap == 'skip' then
    local last = try('HGET', schedule_key(slot.id), 'last_job')
    overlaps = last and not has_ended(last)
  elseif slot.overlap == 'queue' then
    local key = schedule_waiting_key(slot.id)
    local oldest = try('LINDEX', key, 0)
    while oldest and has_ended(oldest) do
      redis.call('LPOP', key)
      oldest = try('LINDEX', key, 0)
    end
    overlaps = (try('LLEN', key) or 0) >= 100
  end
  if overlaps then
    move_on(slot)
    increase(schedule_key(slot.id), 'skipped', 1)
    return { 'skipped' }
  end
end

-- Takes note of what became of the job of a slot: the schedule moves on if it is stored.
local function note_slot(slot, job, answer)
  local key = schedule_key(slot.id)
  if answer[1] == 'created' then
    move_on(slot)
    try('HSET', key, 'last_job', job, 'last_slot', slot.fired)
    increase(key, 'runs', 1)
    if slot.overlap == 'queue' then insist('RPUSH', schedule_waiting_key(slot.id), job) end
  elseif answer[1] ~= 'fired' and answer[1] ~= 'skipped' then
    -- A slot that waits for room is not missed.
    try('HSET', key, 'tried_at', now_text)
  end
end
