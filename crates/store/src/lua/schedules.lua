-- Occurrences of schedules: each is fired in the call that stores its job, so that none is fired twice and none is
-- lost.
local try, insist = commands.try, commands.insist
local schedules = {}

-- The maximum number of jobs of a schedule that wait for each other, with overlap 'queue'.
local MOST_WAITING = 100

-- The occurrences in an argument, by the number of their job. Each is
-- 'number of the job, schedule, occurrence that is expected next, the one that is fired, the one after it or -, number
-- of missed ones, overlap policy;' (times in ms, spaces between).
function schedules.occurrences_in(text)
  local occurrences = {}
  for number, id, expected, fired, following, missed, overlap in string.gmatch(text, '(%d+) (%S+) (%d+) (%d+) (%S+) (%d+) (%l+);') do
    occurrences[tonumber(number)] =
      { id = id, expected = tonumber(expected), fired = fired, following = following, missed = tonumber(missed), overlap = overlap }
  end
  return occurrences
end

-- Moves a schedule to its next occurrence. A schedule without one is kept for a while, so that it can be read.
function schedules.move_on(occurrence)
  local following, key = occurrence.following, keys.schedule(occurrence.id)
  if following == '-' then
    following = request.now + tonumber(request.keep_error) * 1000
    try('HSET', key, 'ended_at', request.now_text)
  end
  insist('ZADD', keys.schedules, following, occurrence.id)
  if occurrence.following ~= '-' then news.due('occurrences', tonumber(following)) end
  if occurrence.missed > 0 then commands.increase(key, 'missed', occurrence.missed) end
end

local function has_ended(id)
  local status = jobs.status(id)
  if not status then return not jobs.exists(id) end
  return values.is_final(status)
end

-- Why the job of an occurrence is not stored, or nil. If an occurrence is skipped because of the job before, the
-- schedule moves on.
function schedules.refuse_occurrence(occurrence)
  if tonumber(try('ZSCORE', keys.schedules, occurrence.id) or -1) ~= occurrence.expected then return { 'fired' } end
  local overlaps = false
  if occurrence.overlap == 'skip' then
    local last = try('HGET', keys.schedule(occurrence.id), 'last_job')
    overlaps = last and not has_ended(last)
  elseif occurrence.overlap == 'queue' then
    local key = keys.schedule_waiting(occurrence.id)
    for _ = 1, 2 * MOST_WAITING do
      local oldest = try('LINDEX', key, 0)
      if not oldest or not has_ended(oldest) then break end
      redis.call('LPOP', key)
    end
    overlaps = (try('LLEN', key) or 0) >= MOST_WAITING
  end
  if overlaps then
    schedules.move_on(occurrence)
    commands.increase(keys.schedule(occurrence.id), 'skipped', 1)
    return { 'skipped' }
  end
end

-- Handles the outcome of the job of an occurrence: the schedule moves on if it is stored.
function schedules.note_occurrence(occurrence, job, answer)
  local key, outcome = keys.schedule(occurrence.id), answer[1]
  if outcome == 'created' then
    schedules.move_on(occurrence)
    try('HSET', key, 'last_job', job, 'last_slot', occurrence.fired)
    commands.increase(key, 'runs', 1)
    if occurrence.overlap == 'queue' then insist('RPUSH', keys.schedule_waiting(occurrence.id), job) end
  elseif outcome ~= 'fired' and outcome ~= 'skipped' then
    -- An occurrence that waits for room is not missed.
    try('HSET', key, 'tried_at', request.now_text)
  end
end

return schedules
