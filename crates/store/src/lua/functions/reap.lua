-- Flags: allow-oom
-- Takes jobs from servers whose lease has expired, and checks jobs that are in queues or run with foreign actors.
-- ARGV  maximum number of each · lease, ms
-- Gives {number of checked entries, number of jobs taken from their servers, deleted keys of a wrong type (with spaces
-- between), of each of those jobs: id · attempt · actor · caller; script types that have work again …}; -1 instead of
-- the first: the call was on its way for long.
local try = commands.try
local read_lost = jobs.end_reader('status', 'attempt', 'crashes', 'stop_requested_at', 'group', 'instance', 'priority',
  'actor', 'caller_id')
local read_place = jobs.reader('status', 'script_type', 'group', 'instance', 'priority', 'missing_at', 'dialect', 'indexed')
local read_watched = jobs.end_reader('status', 'attempt', 'crashes', 'stop_requested_at', 'group', 'instance', 'priority', 'lease',
  'seen_at', 'missing_at', 'timeout', 'started_at', 'unseen', 'indexed', 'queued_at', 'actor', 'worker_id')

-- The time for which a queued job may be in no queue, ms: a foreign actor may take as long between its pop and its
-- first write.
local MISSING = jobs.GRACE_SECONDS * 1000
-- The distance from the taking end of its queue within which a job is searched. A job that is further back is not due
-- soon.
local SEARCH_DISTANCE = 1000
-- The time between two checks of a foreign job that has been queued for an hour, ms.
local PAUSE_MILLIS = 60000

-- The types of keys that are deleted if a foreign program replaced them: otherwise no work would be done until that is
-- removed.
local KINDS = {
  leases = 'zset', watched = 'zset', scheduled = 'zset', unwritten = 'zset', release = 'list', linking = 'list', staging = 'zset',
  holding = 'zset', queues = 'set', paused = 'set', fair = 'set', with_left = 'set', native_only = 'set', foreign = 'zset',
  capped = 'zset', schedules = 'zset', conveyor_ends = 'zset', time_offsets = 'hash', events = 'stream', hours = 'set', types = 'set',
  flows_to_do = 'zset', revisions = 'hash',
}

-- Deletes a key of another type, and notes it.
local function delete_wrong_type(key, kind, gone)
  local is = redis.call('TYPE', key).ok
  if is == kind or is == 'none' then return end
  redis.call('DEL', key)
  gone[#gone + 1] = key
end

-- True if leases may have expired. If nobody checked them for a while, because Redis was away, its clock stepped or
-- every server has just started, none expires before its holder had the time to renew it. A lease that was ended on
-- purpose (with 0) has expired in any case.
local function may_be_over(look, lease)
  local now, pause, longest = request.now, lease / 3 + 1000, math.min(math.max(lease / 2, 3000), 5000)
  look.grace = math.min(look.grace, now + pause)
  -- A server that checks too seldom is not kept from ending leases for ever.
  if (now - look.at > longest or clock_step.is_behind(look)) and now > look.grace + pause then
    look.grace, look.is_news = now + pause, true
  end
  return request.is_timed or now >= look.grace
end

-- Counts a crash of a job, and makes the job run again or end.
local function lost(id, attempt, script_type, job)
  news.count(script_type, 'lease_lost')
  if job.stop_requested_at then
    ends.fail(id, attempt, 'stopped', 'stopped_by_request', job)
    jobs.forget_stops(id, script_type, unpack(redis.call('HMGET', keys.job(id), 'actor', 'worker_id')))
  elseif not ends.crashed(id, attempt, job.crashes, script_type, job) then
    routing.requeue(id, attempt, 'crashed', script_type, job)
    request.has_work(script_type)
  end
end

-- Takes jobs whose lease has expired from their servers. Returns the number of checked leases, and the taken jobs.
local function reap_leases(look, limit, lease)
  local over = leases.over(limit)
  local first = unpack(over)
  -- If jobs cannot be read, for example because a right is missing, leases cannot be renewed either: then this does not
  -- count as a check, and they get time for that afterwards. The read uses the same command as a renewal, because
  -- another one may need another right.
  if first then
    local read, failure = pcall(read_lost, first)
    if not read then
      redis.call('SET', keys.reaped, '0 0', 'EX', 86400)
      error({ err = failure })
    end
  end
  if not may_be_over(look, lease) then over = redis.call('ZRANGEBYSCORE', keys.leases, '-inf', 0, 'LIMIT', 0, limit) end
  local taken = {}
  for _, id in ipairs(over) do
    local job = read_lost(id)
    if job and values.is_final(job.status) then
      -- Somebody wrote the end without its actor.
      foreign.settle(id, job.status)
    else
      redis.call('ZREM', keys.leases, id)
      if job and job.status == 'started' then
        lost(id, tonumber(job.attempt) or 0, job.script_type or jobs.DEFAULT_TYPE, job)
        taken[#taken + 1] = { id, job.attempt or '0', job.actor or '', job.caller_id or '' }
      end
    end
  end
  return #over, taken
end

local function again_in(id, pause) redis.call('ZADD', keys.watched, request.now + pause, id) end

-- Checks a job that was left in its shadow queue, from which only foreign actors take. If it can be removed from there
-- by now, it is put back into our queue. Returns the time until the next check, ms; nil: a foreign actor has taken it.
local function look_at_left(id, shadow, queue, script_type)
  local key, is_long = keys.job(id), commands.is_long(shadow)
  if commands.near(shadow, id, -1) then
    if not queues.push(queue, script_type, id, true) then return PAUSE_MILLIS end
    redis.call('HDEL', key, 'twin_only', 'missing_at')
    request.has_work(script_type)
  elseif not is_long then
    redis.call('HDEL', key, 'twin', 'twin_only')
    return nil
  end
  return queues.FOREIGN_PAUSE
end

local function look_at_queued(id, job)
  local key, script_type = keys.job(id), job.script_type or jobs.DEFAULT_TYPE
  local queue, shadow, only, was_left = keys.work(script_type, job.group, job.instance, job.priority), nil, false, false
  if job.dialect == 'legacy' then shadow, only, was_left = layouts.shadow_of(id) end
  if was_left then
    local wait = look_at_left(id, shadow, queue, script_type)
    if wait then return again_in(id, math.max(wait, math.floor(redis.call('ZCARD', keys.watched) / 2))) end
    shadow = nil
  end
  if only then queue = shadow end
  local length = try('LLEN', queue) or 0
  local pause = shadow and queues.FOREIGN_PAUSE or queues.look_again_at(script_type) - request.now
  if length > SEARCH_DISTANCE or length > 0 and try('LPOS', queue, id, 'RANK', -1) or queues.is_sorted(queue, id, SEARCH_DISTANCE) then
    if job.missing_at then redis.call('HDEL', key, 'missing_at') end
    -- A round through a long queue takes longer, so that checks never cost much.
    return again_in(id, math.max(pause, math.floor(length / 2)))
  end
  -- A job that is known only because others wait for it is where a foreign program put it.
  if job.unseen then return again_in(id, pause) end
  if job.indexed and not job.queued_at or not job.script_type then
    -- It is in a queue of a foreign program, and has to stay there. Only its end matters here. Older ones are checked
    -- less often.
    local age = request.now - (tonumber(job.indexed) or 0)
    return again_in(id, math.max(queues.FOREIGN_PAUSE, math.floor(math.min(age / 60, PAUSE_MILLIS)), redis.call('ZCARD', keys.watched) / 2))
  end
  local since = tonumber(job.missing_at)
  -- A time in the future was written before the clock of Redis was set back.
  if not since or since > request.now then
    redis.call('HSET', key, 'missing_at', values.digits(request.now))
    return again_in(id, queues.FOREIGN_PAUSE)
  elseif request.now - since < MISSING then
    return again_in(id, queues.FOREIGN_PAUSE)
  end
  redis.call('HDEL', key, 'missing_at')
  news.count(script_type, 'pushed_again')
  if routing.enqueue(queue, script_type, id, true) == 'dispatched' then request.has_work(script_type) end
end

local function look_at_started(id, job)
  if job.lease and job.lease ~= '' then
    -- An actor of ours has it.
    redis.call('ZREM', keys.watched, id)
    return
  end
  local key, script_type = keys.job(id), job.script_type or jobs.DEFAULT_TYPE
  local attempt, since = tonumber(job.attempt) or 0, tonumber(job.seen_at)
  if not since then
    attempt = attempt + 1
    redis.call('ZADD', keys.foreign, request.now, script_type)
    redis.call('SREM', keys.native_only, script_type)
    redis.call('HSET', key, 'seen_at', values.digits(request.now), 'attempt', attempt, 'started_at', request.now_text,
      'updated_at', request.now_text)
    redis.call('HDEL', key, 'missing_at')
    if job.dialect then layouts.mirror(id, job.dialect, 'started') end
    -- It was taken from its shadow queue.
    if job.dialect == 'legacy' then
      local _, _, was_left = layouts.shadow_of(id)
      if was_left then redis.call('HDEL', key, 'twin_only')
      else queues.withdraw(keys.work(script_type, job.group, job.instance, job.priority), id)
      end
    end
    news.event(id, 'started', attempt)
    if redis.call('HDEL', key, 'released') == 0 and job.script_type then news.count(script_type, 'started') end
  elseif since > request.now then
    redis.call('HSET', key, 'seen_at', values.digits(request.now))
  elseif request.now >= since + (values.number(job.timeout, jobs.DEFAULT_TIMEOUT_SECONDS) + jobs.GRACE_SECONDS) * 1000 then
    redis.call('HDEL', key, 'seen_at')
    redis.call('ZREM', keys.watched, id)
    return lost(id, attempt, script_type, job)
  else
    -- Its actor still exists, however long ago it began.
    redis.call('ZADD', keys.foreign, request.now, script_type)
  end
  again_in(id, queues.FOREIGN_PAUSE)
end

-- True if a job is far back in a long queue, so that it needs no closer check; then it is checked again later.
-- `lengths`: those of queues that this call has read.
local function lies_far_back(id, lengths)
  local job = read_place(id)
  if not job or job.status ~= 'dispatched' or not job.script_type or job.missing_at or job.dialect or job.indexed then return false end
  local queue = keys.work(job.script_type, job.group, job.instance, job.priority)
  lengths[queue] = lengths[queue] or try('LLEN', queue) or 0
  if lengths[queue] <= SEARCH_DISTANCE then return false end
  again_in(id, math.max(queues.look_again_at(job.script_type) - request.now, math.floor(lengths[queue] / 2)))
  return true
end

local function look_at(id, lengths)
  if lies_far_back(id, lengths) then return end
  local job = read_watched(id)
  local status = job and (job.status or jobs.exists(id) and 'dispatched')
  if status == 'dispatched' or status == '' then look_at_queued(id, job)
  elseif values.is_final(status) then foreign.settle(id, status)
  elseif not status or values.is_waiting(status) then redis.call('ZREM', keys.watched, id)
  else look_at_started(id, job) -- Also if a foreign actor has a word of its own.
  end
end

return function()
  local limit, lease, lengths = request.take_number(), request.take_number(), {}
  -- If this call was delayed, renewals may have been delayed, too: then no lease expires before their servers could
  -- call again. They call three times in a lease, and this call may have been delayed by the time between two checks
  -- more than it says.
  if request.delay > math.min(math.max(lease * 2 / 3 - 450, 100), 1000) then return { -1 } end
  local gone = {}
  for name, kind in pairs(KINDS) do delete_wrong_type(keys[name], kind, gone) end
  for _, status in ipairs({ 'error', 'left' }) do delete_wrong_type(keys.index_of_status(status), 'zset', gone) end
  local look = clock_step.last_look()
  clock_step.tend(look, lease)
  local looked, taken = reap_leases(look, limit, lease)
  clock_step.note(look)
  local watched = redis.call('ZRANGEBYSCORE', keys.watched, '-inf', request.now, 'LIMIT', 0, limit)
  for _, id in ipairs(watched) do look_at(id, lengths) end
  queues.clean()
  news.send_all()
  local reply = { looked + #watched, #taken, table.concat(gone, ' ') }
  for _, list in ipairs(taken) do
    for _, text in ipairs(list) do reply[#reply + 1] = text end
  end
  for _, script_type in ipairs(request.types) do reply[#reply + 1] = script_type end
  return reply
end
