#!lua flags=allow-oom
-- Takes jobs from servers that let their lease run out, and looks after jobs that lie in queues or run with foreign actors.
-- ARGV  9 at most so many of each   10 lease, ms
-- Gives {number of entries looked at, script types that have work again …}; -1 instead of the number: the call was on its way for long.
local looked = 0

-- What kept this call may have kept renewals, too: then no lease is over before their servers could call again. They call three times in a lease,
-- and this may have been kept for the time between two looks more than it says.
local LATE = math.min(math.max(ARGV[10] * 2 / 3 - 450, 100), 1000)
if delay > LATE then return { -1 } end

-- What an outsider made of these gives way: work would stand still for as long as it is there.
local KINDS = {
  [leases_key] = 'zset', [watched_key] = 'zset', [scheduled_key] = 'zset', [unwritten_key] = 'zset', [release_key] = 'list', [queues_key] = 'set',
  [paused_key] = 'set', [fair_key] = 'set', [calm_key] = 'set', [foreign_key] = 'zset', [capped_key] = 'zset', [schedules_key] = 'zset',
  [conveyor_key] = 'zset', [status_key('error')] = 'zset', [status_key('left')] = 'zset', [strays_key] = 'hash',
}
for key, kind in pairs(KINDS) do
  local is = redis.call('TYPE', key).ok
  if is ~= kind and is ~= 'none' then redis.call('DEL', key) end
end

-- Whether leases may be over. Where nobody looked at them for a while, because Redis was away, its clock stepped or every server has just started,
-- none is before its holder had the time to renew it. What was ended on purpose (with 0) is over all the same.
local function may_be_over()
  if string.byte(ARGV[3]) == 61 then return true end
  local pause, longest = ARGV[10] / 3 + 1000, math.min(math.max(ARGV[10] / 2, 3000), 5000)
  local at, grace = string.match(try('GET', reaped_key) or '', '^(%d+) (%d+)$')
  at, grace = tonumber(at or 0), math.min(tonumber(grace or 0), now + pause)
  -- Those who look too seldom shall not wait for ever.
  if (now - at > longest or at > now + 1000) and now > grace + pause then at, grace = 0, now + pause end
  if math.abs(now - at) >= 1000 then redis.call('SET', reaped_key, string.format('%.0f %.0f', now, grace), 'EX', 86400) end
  return now >= grace
end

-- Counts the death of whoever ran a job, and has it run again or end.
local function lost(id, attempt, crashes, stop_requested, script_type, group, instance, priority, of)
  count(script_type, 'lease_lost')
  if stop_requested then
    fail(id, attempt, 'stopped', 'stopped_by_request', of)
    forget_stops(id, script_type, unpack(redis.call('HMGET', job_prefix .. id, 'actor', 'worker_id')))
  elseif not crashed(id, attempt, crashes, script_type, of) then
    requeue(id, attempt, 'crashed', script_type, group, instance, priority)
    has_work(script_type)
  end
end

local over = redis.call('ZRANGEBYSCORE', leases_key, '-inf', now, 'LIMIT', 0, ARGV[9])
-- Where jobs cannot be read, as for want of a right, leases cannot be renewed either: then nobody has looked, and they get time for that afterwards.
if over[1] then
  local read, failure = pcall(try, 'HMGET', job_prefix .. over[1], 'status')
  if not read then
    redis.call('SET', reaped_key, '0 0', 'EX', 86400)
    error(failure)
  end
end
if not may_be_over() then over = redis.call('ZRANGEBYSCORE', leases_key, '-inf', 0, 'LIMIT', 0, ARGV[9]) end
for _, id in ipairs(over) do
  looked = looked + 1
  local job = try('HMGET', job_prefix .. id, 'status', 'attempt', 'crashes', 'stop_requested_at', 'script_type', 'group', 'instance', 'priority', unpack(END_FIELDS))
  if job and is_final(job[1]) then
    -- Somebody wrote the end past its actor.
    settle(id, job[1])
  else
    redis.call('ZREM', leases_key, id)
  end
  if job and job[1] == 'started' then
    lost(id, tonumber(job[2]) or 0, job[3], job[4], job[5] or 'osis', job[6], job[7], job[8], of_end(job, 9))
  end
end

-- A job that is in no queue any more and was not started: so long a foreign actor may take between its pop and its first write, ms.
local MISSING = 30000
-- Looked for only so far from where jobs are taken: what is further back is not due, and queues may be long.
local FAR = 1000
-- An outsider's job that has lain somewhere for an hour is looked at this often, ms.
local OLD = 60000

local function again_in(id, pause) redis.call('ZADD', watched_key, now + pause, id) end

local function look_at_queued(id, key, job)
  local script_type = job[5] or 'osis'
  local queue, twin, only = work_key(script_type, job[6], job[7], job[8]), nil, false
  if job[21] == 'legacy' then twin, only = twin_of(id) end
  if only then queue = twin end
  local length = try('LLEN', queue) or 0
  local pause = twin and RESTLESS or look_again_at(script_type) - now
  if length > FAR or length > 0 and try('LPOS', queue, id, 'RANK', -1) or is_sorted(queue, id, FAR) then
    if job[11] then redis.call('HDEL', key, 'missing_at') end
    -- A round through a long queue takes longer, so that looking never costs much.
    return again_in(id, math.max(pause, math.floor(length / 2)))
  end
  -- One that was only heard of is where an outsider put it.
  if redis.call('HEXISTS', key, 'unseen') == 1 then return again_in(id, pause) end
  local noticed, queued = unpack(redis.call('HMGET', key, 'indexed', 'queued_at'))
  if noticed and not queued or not job[5] then
    -- An outsider put it where we do not look, and does not want it anywhere else. Only its end concerns us, the longer ago the less.
    local age = now - (tonumber(noticed) or 0)
    return again_in(id, math.max(RESTLESS, math.floor(math.min(age / 60, OLD)), redis.call('ZCARD', watched_key) / 2))
  end
  local since = tonumber(job[11])
  if not since then
    redis.call('HSET', key, 'missing_at', string.format('%.0f', now))
    return again_in(id, RESTLESS)
  elseif now - since < MISSING then
    return again_in(id, RESTLESS)
  end
  redis.call('HDEL', key, 'missing_at')
  count(script_type, 'pushed_again')
  if enqueue(queue, script_type, id, true) == 'dispatched' then has_work(script_type) end
end

local function look_at_started(id, key, job)
  if job[9] and job[9] ~= '' then
    -- One of ours has it.
    redis.call('ZREM', watched_key, id)
    return
  end
  local script_type, attempt, since = job[5] or 'osis', tonumber(job[2]) or 0, tonumber(job[10])
  if not since then
    attempt = attempt + 1
    redis.call('ZADD', foreign_key, now, script_type)
    redis.call('SREM', calm_key, script_type)
    redis.call('HSET', key, 'seen_at', string.format('%.0f', now), 'attempt', attempt, 'started_at', now_text, 'updated_at', now_text)
    redis.call('HDEL', key, 'missing_at')
    if job[21] then mirror(id, job[21], 'started') end
    -- It was taken from its twin queue.
    if job[21] == 'legacy' then try('LREM', work_key(script_type, job[6], job[7], job[8]), -1, id) end
    event(id, 'started', attempt)
    if redis.call('HDEL', key, 'released') == 0 and job[5] then count(script_type, 'started') end
  elseif now >= since + (number(job[12], 60) + 30) * 1000 then
    redis.call('HDEL', key, 'seen_at')
    redis.call('ZREM', watched_key, id)
    return lost(id, attempt, job[3], job[4], script_type, job[6], job[7], job[8], of_end(job, 13))
  else
    -- Whoever runs it is still there, however long ago it began.
    redis.call('ZADD', foreign_key, now, script_type)
  end
  again_in(id, RESTLESS)
end

-- Whether a job lies far back in a long queue, so that nobody needs to look closer; then it is looked at again later.
local lengths = {}
local function lies_far_back(id, key)
  local job = try('HMGET', key, 'status', 'script_type', 'group', 'instance', 'priority', 'missing_at', 'dialect', 'indexed')
  if not job or job[1] ~= 'dispatched' or not job[2] or job[6] or job[7] or job[8] then return false end
  local queue = work_key(job[2], job[3], job[4], job[5])
  lengths[queue] = lengths[queue] or try('LLEN', queue) or 0
  if lengths[queue] <= FAR then return false end
  again_in(id, math.max(look_again_at(job[2]) - now, math.floor(lengths[queue] / 2)))
  return true
end

local function look_at(id)
  local key = job_prefix .. id
  if lies_far_back(id, key) then return end
  local job = try('HMGET', key, 'status', 'attempt', 'crashes', 'stop_requested_at', 'script_type', 'group', 'instance', 'priority', 'lease', 'seen_at',
    'missing_at', 'timeout', unpack(END_FIELDS))
  local status = job and (job[1] or redis.call('EXISTS', key) == 1 and 'dispatched')
  if status == 'dispatched' or status == '' then look_at_queued(id, key, job)
  elseif is_final(status) then settle(id, status)
  elseif not status or status == 'created' or status == 'scheduled' or status == 'waiting_for_prerequisites' then redis.call('ZREM', watched_key, id)
  else look_at_started(id, key, job) -- Also where a foreign actor has a word of its own.
  end
end

for _, id in ipairs(redis.call('ZRANGEBYSCORE', watched_key, '-inf', now, 'LIMIT', 0, ARGV[9])) do
  looked = looked + 1
  look_at(id)
end
flush()
tell_own()
return { looked, unpack(types) }
