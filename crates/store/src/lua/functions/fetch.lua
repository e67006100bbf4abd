-- Flags:
-- One fetch of a pool: records the ends of jobs, then takes new ones, in one round trip.
-- ARGV  lease, ms · script type · number of ended attempts, each:
--         id · claim · usage (JSON or '') · list: outcome · 'logged' or '-' · format of the output or '-' · then by outcome:
--         'finished' · output
--         'error' · kind · message · line · column · stack (JSON or '') · limit · data (JSON or '') · wait before a
--                   retry, ms, or '-': it is not tried again
--         'crashed'       the engine died        'released'       the actor leaves and requeues the job
--       then: list of actors ('type:group:instance') · number of jobs that each can take …
--       then: list of queues in the order of service · list of the number of the actor that each belongs to, or 0 for any
--       then: 'fair' (callers take turns in the queues of the type and group) or ''
--       then: maximum number of jobs that run in the context, or 0
--       then: number of queues of other layouts, each: key
-- Gives {per attempt: status now, or 'lost' when somebody else holds the job},
--       {per taken job: {number of the actor, '1' if only that actor may run it or '', id, attempt, claim, then the values of jobs.GIVEN}},
--       {ids ended here because a stop was pending},
--       1 if queues have more that was not checked, 2 if nothing was taken because the call was on its way for long, else 0,
--       1 if relatives of ended jobs are still to be released, else 0,
--       1 if there is room left and a queue of another layout is not empty, else 0,
--       1 if queues of instances have something now, else 0,
--       the time that was written, ms,
--       {script types that have work that this call did not take …}}.
local try, insist = commands.try, commands.insist

-- The number of ids that a call checks, and the number of stops of a queue.
local MOST_LOOKED_AT, MOST_STOPS = 256, 1024
-- The number of relatives of ended jobs that a call releases, which takes about a millisecond.
local MOST_RELEASED = 32
-- A greater number of an attempt, which only a foreign program writes, is ignored.
local MOST_ATTEMPTS = 2000000000

-- The state of this call; each call sets it anew.
local own_type, lease_until, left_to_look_at, left_to_take
local room, taken, stopped, pending, admits = {}, {}, {}, {}, {}
-- Jobs that may run and are not started yet, and their ids.
local found, found_ids = {}, {}
-- The actors of the pool, its queues, and for each queue the actor that it belongs to, or 0.
local actors, served, owners
-- Whether ids were left in queues whose jobs do not run from there.
local some_left

local read_run = jobs.reader('started_at', 'timeout', 'crashes')
local read_rest = jobs.reader('retries', 'stop_requested_at', 'crashes', 'group', 'instance', 'priority')

-- Reads an error from the arguments.
local function take_error()
  local kind, message, line, column, stack, limit, data, wait = request.take_many(8)
  return { kind = kind, message = message, line = line, column = column, stack = stack, limit = limit, data = data, wait = tonumber(wait) }
end

local function finish(id, job, output, format, usage, logged)
  local key, ended = keys.job(id), ends.ends_at(job.started_at)
  redis.call('HSET', key, 'status', 'finished', 'lease', '', 'updated_at', ended, 'output', output, 'output_format', format, 'usage', usage,
    'finished_at', ended)
  if job.failures then redis.call('HDEL', key, unpack(jobs.ERROR)) end
  ends.end_job(id, 'finished', job.attempt, output, nil, logged, job)
  return 'finished'
end

local function fail(id, job, rest, failure, usage, logged, script_type)
  local key, ended, failures = keys.job(id), ends.ends_at(job.started_at), (tonumber(job.failures) or 0) + 1
  local again = failure.wait and failure.kind ~= 'stopped' and not rest.stop_requested_at and failures <= values.retries(rest.retries)
  -- The next set first: a scheduled job that is in no set would be found by nobody.
  if again then news.schedule(id, request.now + failure.wait) end
  redis.call('HSET', key, 'status', again and 'scheduled' or 'error', 'lease', '', 'failures', failures, 'error', failure.message,
    'error_kind', failure.kind, 'error_line', failure.line, 'error_column', failure.column, 'error_stack', failure.stack,
    'error_limit', failure.limit, 'error_data', failure.data, 'usage', usage, 'updated_at', ended)
  if again then
    attempts.keep(id, job.attempt, 'error')
    -- The next attempt reports its own progress.
    redis.call('HDEL', key, 'progress')
    if job.dialect then layouts.mirror(id, job.dialect, 'scheduled') end
    news.event(id, 'scheduled', job.attempt, failure.kind)
    news.count(script_type, 'retried')
    return 'scheduled'
  end
  redis.call('HSET', key, 'finished_at', ended)
  local is_first = not job.failures and not rest.crashes
  if not is_first and failure.kind ~= 'stopped' then attempts.log_last(id, job.attempt, failure) end
  ends.end_job(id, 'error', job.attempt, failure.message, failure.kind, logged or not is_first, job)
  return 'error'
end

-- Records the end of an attempt. `over`: the jobs whose leases end with it.
local function complete(over)
  local id, claim, usage = request.take_many(3)
  local outcome, logging, format = unpack(request.take_list(), 1, 3)
  local output, failure
  if outcome == 'finished' then output = request.take() elseif outcome == 'error' then failure = take_error() end
  local job = jobs.read_run(id)
  if not job or job.status ~= 'started' or job.lease ~= request.server
    or jobs.claim_of(job.attempt, job.given_back) ~= tonumber(claim) then
    return 'lost'
  end
  over[#over + 1] = id
  local script_type = job.script_type or own_type
  -- An earlier run may have logged, too.
  local logged = logging == 'logged' or claim ~= '1'
  if outcome == 'finished' then return finish(id, job, output, format, usage, logged) end
  local rest = read_rest(id)
  if outcome == 'error' then return fail(id, job, rest, failure, usage, logged, script_type) end
  if outcome == 'crashed' then
    if rest.stop_requested_at then
      ends.fail(id, job.attempt, 'stopped', 'stopped_by_request', job)
      return 'error'
    end
    if ends.crashed(id, job.attempt, rest.crashes, script_type, job) then return 'error' end
    routing.requeue(id, job.attempt, 'crashed', script_type, rest)
    return 'dispatched'
  end
  -- The next attempt gets the same number, but no claim has the number of another.
  local given_back = values.digits(jobs.claim_of(0, job.given_back) + 1)
  redis.call('HSET', keys.job(id), 'given_back', given_back, 'released', '1')
  routing.requeue(id, tonumber(job.attempt) - 1, nil, script_type, rest)
  return 'dispatched'
end

-- Releases the relatives of the ended jobs in this call, so that it takes them, too: a chain needs no further round trip for each job. If
-- others wait for their release, these do as well (release_relatives.lua).
local function release_at_once(wanted)
  if (try('LLEN', keys.release) or 0) > request.releases then return end
  if wanted > 0 then
    for _, queue in ipairs(served) do request.read_now[queue] = true end
  end
  -- The server learns of the ended jobs from the answer, but not of those that end with them.
  request.own = {}
  -- An error is left to release_relatives.lua, because the ends are recorded.
  pcall(relatives.release, MOST_RELEASED)
  news.tell_own()
end

-- The actor with the most room.
local function roomiest()
  local best = 1
  for actor = 2, #room do
    if room[actor] > room[best] then best = actor end
  end
  return best
end

-- Starts the jobs that were found, with one command for all leases and one for all watches.
local function start_found()
  if #found == 0 then return end
  local entries, watched = {}, {}
  for at, one in ipairs(found) do
    entries[2 * at - 1], entries[2 * at] = lease_until, one.id
    if not one.unwatched then watched[#watched + 1] = one.id end
  end
  -- The leases first: a started job without one would be found by nobody.
  insist('ZADD', keys.leases, unpack(entries))
  if #watched > 0 then insist('ZREM', keys.watched, unpack(watched)) end
  for _, one in ipairs(found) do
    local id, job, key = one.id, one.job, keys.job(one.id)
    local added = redis.call('HSET', key, 'status', 'started', 'attempt', one.attempt, 'started_at', request.now_text,
      'updated_at', request.now_text, 'lease', request.server, 'actor', actors[one.actor])
    if one.fields then field_counts.keep(id, one.fields + added, request.now_text) end
    if not job.script_type then redis.call('HSET', key, 'script_type', own_type) end
    if job.dialect then layouts.mirror(id, job.dialect, 'started') end
    news.event(id, 'started', one.attempt)
    if job.released then redis.call('HDEL', key, 'released') else news.count(job.script_type or own_type, 'started') end
    local claim = jobs.claim_of(one.attempt, job.given_back)
    local last = one.first_given + #jobs.GIVEN - 1
    taken[#taken + 1] = { one.actor, one.pinned, id, one.attempt, claim, unpack(one.list, one.first_given, last) }
  end
  found, found_ids = {}, {}
end

local function add_found(one)
  found[#found + 1], found_ids[one.id] = one, true
  room[one.actor] = room[one.actor] - 1
  left_to_take = left_to_take - 1
end

-- True if a job may run that is not simply waiting in its queue. Nil: too many relations were followed in this call to
-- tell.
local function may_run(id, queue, job, attempt)
  local key, status, script_type = keys.job(id), job.status, job.script_type or own_type
  if not status and redis.call('EXISTS', key) == 0 then
    insist('ZADD', keys.unwritten, 'NX', request.now + jobs.HASH_MILLIS, id .. ' ' .. queue)
    news.due('jobs', request.now + jobs.NEXT_LOOK)
    return false
  end
  if status and status ~= '' and status ~= 'dispatched' and status ~= 'started' then return false end
  if status == 'started' then
    local run = read_run(id)
    if not jobs.is_abandoned(id, run.started_at, run.timeout) then return false end
    insist('ZREM', keys.leases, id)
    news.count(script_type, 'lease_lost')
    redis.call('HDEL', key, 'seen_at')
    if ends.crashed(id, attempt, run.crashes, script_type, jobs.read_for_end(id)) then return false end
  end
  if pending[id] or job.stop_requested_at then
    ends.fail(id, attempt, 'stopped', 'stopped', jobs.read_for_end(id))
    stopped[#stopped + 1] = id
    jobs.forget_stops(id, own_type, unpack(redis.call('HMGET', key, 'actor', 'worker_id')))
    return false
  end
  local was_started = status == 'started'
  if job.dialect == 'legacy' and not layouts.remove_from_shadow(id, was_started) and not was_started then return false end
  -- A queued job is watched, unless a foreign program put it there.
  if (insist('ZREM', keys.watched, id) == 0 or job.unseen) and status ~= 'started' then return foreign.admit(id, queue, admits) end
  return true
end

-- Takes a job for an actor, if it may run. 'later': this call cannot tell. `was_watched`: whether it was watched when
-- it was taken from its queue; nil if that was not checked.
local function claim(id, queue, actor, pinned, was_watched)
  if not values.is_uuid(id) then return foreign.refuse_id(id) end
  -- It is there twice.
  if found_ids[id] then start_found() end
  local one = jobs.read_waiting(id)
  if not one then return end
  local job = one.job
  local attempt = tonumber(job.attempt) or 0
  if not (attempt >= 0 and attempt < MOST_ATTEMPTS and attempt % 1 == 0) then attempt = 0 end
  -- As text, which it usually is already.
  local next_attempt = attempt == 0 and '1' or values.digits(attempt + 1)
  one.id, one.attempt, one.actor, one.pinned = id, next_attempt, actor, pinned
  -- Usually it simply waits there.
  if job.status == 'dispatched' and was_watched ~= false
    and not (pending[id] or job.stop_requested_at or job.unseen or job.dialect == 'legacy') then
    one.unwatched = not was_watched and insist('ZREM', keys.watched, id) == 1
    if was_watched or one.unwatched then return add_found(one) end
  end
  start_found()
  local may = may_run(id, queue, job, attempt)
  if may == nil then return 'later' end
  -- Fields may have been written to it, so their number is not known any more.
  one.unwatched, one.fields = true, nil
  if may then add_found(one) end
end

-- Takes as many jobs from a queue as there is room for.
local function take_from(queue, own_actor, in_turn, sorts)
  local pinned, seen = own_actor > 0 and '1' or '', false
  while left_to_take > 0 and left_to_look_at > 0 do
    local many = math.min(left_to_take, left_to_look_at, own_actor > 0 and room[own_actor] or math.huge)
    if many <= 0 then break end
    local ids, was_watched
    if in_turn then
      local id = fair.take(queue, sorts)
      ids, many = id and { id } or {}, 1
    else
      ids = try('RPOP', queue, many) or {}
    end
    if #ids == 0 then break end
    seen = true
    if #ids > 1 then was_watched = insist('ZMSCORE', keys.watched, unpack(ids)) end
    for at, id in ipairs(ids) do
      left_to_look_at = left_to_look_at - 1
      local watched = nil
      if was_watched then watched = was_watched[at] and true or false end
      local actor = own_actor > 0 and own_actor or roomiest()
      -- Its job was stopped or deleted since. If the job is to run again, it is in the queue once more.
      local is_left = some_left and queues.drops(queue, id)
      if not is_left and claim(id, queue, actor, pinned, watched) == 'later' then
        -- The next call begins with it.
        for again = #ids, at, -1 do try('RPUSH', queue, ids[again]) end
        left_to_look_at = 0
        break
      end
    end
    if #ids < many then
      if some_left and not in_turn then queues.ran_empty(queue) end
      break
    end
  end
  start_found()
  return seen
end

local function take_actors()
  local wanted = 0
  actors = request.take_list()
  for actor = 1, #actors do
    room[actor] = request.take_number()
    wanted = wanted + room[actor]
  end
  return wanted
end

-- True if queues of instances have something.
local function instances_hold_something()
  local owned = {}
  for place, queue in ipairs(served) do
    if owners[place] ~= '0' then owned[#owned + 1] = queue end
  end
  return #owned > 0 and redis.call('EXISTS', unpack(owned)) > 0
end

-- Checks everything that is usually empty with one command, which costs as much as one pop: the queues, the marks that
-- one is paused or sorted, and stops that nobody has read. Returns the number of queues that are not empty, and whether
-- these marks exist.
local function look(with_stops)
  local controls = { keys.paused, keys.fair, keys.with_left, keys.control(own_type) }
  for actor = 1, #actors do controls[#controls + 1] = keys.control_instance(actors[actor]) end
  local marks = redis.call('EXISTS', unpack(controls))
  if marks == 0 then return redis.call('EXISTS', unpack(served)), false, false end
  local paused, sorted = redis.call('EXISTS', keys.paused) == 1, redis.call('EXISTS', keys.fair) == 1
  some_left = redis.call('EXISTS', keys.with_left) == 1
  if with_stops and marks > (paused and 1 or 0) + (sorted and 1 or 0) + (some_left and 1 or 0) then
    for place = 4, #controls do
      for _, id in ipairs(try('LRANGE', controls[place], 0, MOST_STOPS - 1) or {}) do pending[id] = true end
    end
  end
  return redis.call('EXISTS', unpack(served)), paused, sorted
end

-- Takes jobs from the queues of the pool.
local function take_jobs(not_empty, paused, in_turn, sorts)
  if in_turn and not_empty > 0 then not_empty = math.huge end
  for place, queue in ipairs(served) do
    if not_empty <= 0 then break end
    local owner = tonumber(owners[place])
    if not (paused and queues.is_paused(queue)) and take_from(queue, owner, in_turn and owner == 0, sorts) then
      not_empty = not_empty - 1
    end
  end
end

return function()
  lease_until, own_type = request.digits_in(request.take()), request.take()
  local empty = request.empty
  room, taken, found, found_ids = {}, empty(taken), empty(found), empty(found_ids)
  stopped, pending, admits = empty(stopped), empty(pending), empty(admits)
  left_to_look_at = MOST_LOOKED_AT
  some_left = false
  fair.begin()
  local statuses, over = {}, {}
  for attempt = 1, request.take_number() do statuses[attempt] = complete(over) end
  if #over > 0 then insist('ZREM', keys.leases, unpack(over)) end

  local asked = take_actors()
  served, owners = request.take_list(), request.take_list()
  local sorts, most_running = request.take() == 'fair', request.take_number()
  local late = asked > 0 and request.delay > request.LATE
  left_to_take = late and 0 or asked
  if most_running > 0 then left_to_take = limit.share_of(most_running, own_type, left_to_take) end
  local wanted = left_to_take
  if request.releases > 0 then release_at_once(wanted) end
  local not_empty, paused, sorted = 0, false, false
  if asked > 0 then not_empty, paused, sorted = look(wanted > 0) end
  if wanted > 0 then take_jobs(sorted and math.huge or not_empty, paused, sorts or sorted, sorts) end
  -- What this pool has no room for may be for another one of its type.
  if request.came_to_read and (#taken >= wanted or left_to_look_at == 0) then request.has_work(own_type) end
  if most_running > 0 and asked > 0 then
    limit.stand_in_line(own_type, #taken == wanted and wanted < asked and limit.have_more(served, paused), #taken > 0)
  end
  news.send()
  -- The operator named them. This user of Redis may have no right to them, which is ignored.
  local others = request.take_number()
  local there = others > 0 and #taken < wanted and redis.pcall('EXISTS', request.take_many(others)) or 0
  local importable = type(there) == 'number' and there > 0
  local more = late and 2 or (left_to_look_at == 0 or fair.has_more()) and 1 or 0
  local instances_left = not_empty > 0 and instances_hold_something()
  local left_to_release = request.releases > 0 and redis.call('EXISTS', keys.release) or 0
  return { statuses, taken, stopped, more, left_to_release, importable and 1 or 0, instances_left and 1 or 0, request.now, request.types }
end
