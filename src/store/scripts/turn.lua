-- One turn of a pool: records how jobs ended, then takes new ones. One round trip does both.
-- ARGV  9 lease, ms   10 script type   11 number of ended attempts, each:
--         id · claim · logged ('1' or '') · usage (JSON or '') · outcome · then by outcome:
--         'finished' · output · format
--         'error' · kind · message · line · column · stack (JSON or '') · limit · wait before a retry, ms
--         'crashed' · ''      the engine died        'released' · ''      the actor leaves and gives the job back
--       then: number of slots, each an actor ('type:group:instance') · how many jobs it can take
--       then: number of queues in the order of service, each: key · the slot it belongs to, or 0 for any
--       then: 'fair' (callers take turns in the queues of the type and group) or ''
--       then: the most jobs that may run in the context, or 0
--       then: number of queues of other layouts, each: key
-- Gives {per attempt: status now, or 'lost' when somebody else holds the job},
--       {per taken job: {slot, '1' if only that slot may run it or '', id, attempt, claim,
--         script · args · env_vars · timeout · caller_id · log_path · retry_backoff · failures · queued_at · created_at · concurrent}},
--       {ids ended here because a stop was pending},
--       1 if queues hold more that was not looked at, 2 if nothing was taken because the call was on its way for long, else 0,
--       number of ended jobs whose relatives are to be released,
--       1 if a queue keeps jobs sorted by caller else 0, 1 if there is room left and a queue of another layout holds something else 0,
--       the time that was written, ms}.
-- Before this stands fair.lua or a `take_in_turn` that is nil, and cap.lua or a `share_of` that is nil.
-- Seldom: admit, mirror, fail, crashed, requeue, untwin, is_paused, is_abandoned, forget_stops, release, list_error
local lease_until, own_type, ends, at = now + ARGV[9], ARGV[10], tonumber(ARGV[11]), 11
local function take() at = at + 1; return ARGV[at] end

local statuses, leases_over = {}, {}

local function complete(id, claim, logged, usage)
  local outcome, key = take(), job_prefix .. id
  local first, kind, message, line, column, stack, limit, wait = take(), nil, nil, nil, nil, nil, nil, nil
  if outcome == 'finished' then message = take()
  elseif outcome == 'error' then kind, message, line, column, stack, limit, wait = first, take(), take(), take(), take(), take(), take() end

  local job = try('HMGET', key, 'status', 'attempt', 'lease', 'failures', 'given_back', 'started_at', unpack(END_FIELDS))
  if not job or job[1] ~= 'started' or job[3] ~= server or claim_of(job[2], job[5]) ~= tonumber(claim) then return 'lost' end
  local attempt = job[2]
  leases_over[#leases_over + 1] = id
  local script_type, of, ended = job[12] or own_type, of_end(job, 7), ends_at(job[6])
  -- A run before this one may have logged, too.
  logged = logged == '1' or tonumber(claim) > 1

  if outcome == 'finished' then
    redis.call('HSET', key, 'status', 'finished', 'lease', '', 'output', first, 'output_format', message, 'usage', usage, 'finished_at', ended,
      'updated_at', ended)
    if job[4] then redis.call('HDEL', key, 'error', 'error_kind', 'error_line', 'error_column', 'error_stack', 'error_limit') end
    end_job(id, 'finished', attempt, first, nil, logged, of)
    return 'finished'
  end
  local more = redis.call('HMGET', key, 'retries', 'stop_requested_at', 'crashes', 'group', 'instance', 'priority')
  local stopping = more[2]
  if outcome == 'error' then
    local failures = (tonumber(job[4]) or 0) + 1
    local again = kind ~= 'stopped' and not stopping and failures <= (tonumber(more[1]) or 0)
    redis.call('HSET', key, 'lease', '', 'failures', failures, 'error', message, 'error_kind', kind, 'error_line', line, 'error_column', column,
      'error_stack', stack, 'error_limit', limit, 'usage', usage, 'updated_at', ended)
    if again then
      redis.call('HSET', key, 'status', 'scheduled')
      redis.call('ZADD', scheduled_key, now + tonumber(wait), id)
      if of[9] then mirror(id, of[9], 'scheduled') end
      event(id, 'scheduled', attempt, kind)
      count(script_type, 'retried')
      return 'scheduled'
    end
    redis.call('HSET', key, 'status', 'error', 'finished_at', ended)
    end_job(id, 'error', attempt, message, kind, logged, of)
    return 'error'
  elseif outcome == 'crashed' then
    if stopping then
      fail(id, attempt, 'stopped', 'stopped_by_request', of)
      return 'error'
    end
    if crashed(id, attempt, more[3], script_type, of) then return 'error' end
    requeue(id, attempt, 'crashed', script_type, more[4], more[5], more[6])
    return 'dispatched'
  end
  -- The number goes to the next attempt, which is counted already; but no claim has the number of another.
  redis.call('HSET', key, 'given_back', string.format('%.0f', claim_of(0, job[5]) + 1), 'released', '1')
  requeue(id, tonumber(attempt) - 1, nil, script_type, more[4], more[5], more[6])
  return 'dispatched'
end

for job = 1, ends do
  local id, claim, logged, usage = take(), take(), take(), take()
  statuses[job] = complete(id, claim, logged, usage)
end
if #leases_over > 0 then redis.call('ZREM', leases_key, unpack(leases_over)) end

local slots, room, wanted = {}, {}, 0
for slot = 1, tonumber(take()) do
  slots[slot] = take()
  room[slot] = tonumber(take())
  wanted = wanted + room[slot]
end
local queues = tonumber(take())
local taken, stopped, left_to_look_at = {}, {}, 256

-- The slot with the most room.
local function roomiest()
  local best = 1
  for slot = 2, #room do
    if room[slot] > room[best] then best = slot end
  end
  return best
end

-- Ids that somebody wants stopped: they end here instead of starting.
local pending = {}

-- What was followed for jobs of outsiders.
local admits = {}

-- Takes a job for a slot, if it may run. 'later': too much was followed in this call to see whether it may.
local function claim(id, queue, slot, owned)
  if not is_uuid(id) then return end
  local key = job_prefix .. id
  local job = try('HMGET', key, 'status', 'attempt', 'crashes', 'started_at', 'stop_requested_at', 'script_type', 'script', 'args', 'env_vars', 'timeout', 'caller_id',
    'log_path', 'retry_backoff', 'failures', 'queued_at', 'created_at', 'concurrent', 'unseen', 'dialect',
    'given_back', 'released')
  if not job then return end
  local status, attempt = job[1], tonumber(job[2]) or 0
  if not (attempt >= 0 and attempt < 2000000000 and attempt % 1 == 0) then attempt = 0 end
  if not status and redis.call('EXISTS', key) == 0 then
    redis.call('ZADD', unwritten_key, 'NX', now + 5000, id .. ' ' .. queue)
    return
  end
  if status and status ~= '' and status ~= 'dispatched' and status ~= 'started' then return end
  local script_type = job[6] or own_type
  if status == 'started' then
    if not is_abandoned(id, job[4], job[10]) then return end
    redis.call('ZREM', leases_key, id)
    count(script_type, 'lease_lost')
    redis.call('HDEL', key, 'seen_at')
    if crashed(id, attempt, job[3], script_type, redis.call('HMGET', key, unpack(END_FIELDS))) then return end
  end
  if pending[id] or job[5] then
    fail(id, attempt, 'stopped', 'stopped', redis.call('HMGET', key, unpack(END_FIELDS)))
    stopped[#stopped + 1] = id
    forget_stops(id, own_type, unpack(redis.call('HMGET', key, 'actor', 'worker_id')))
    return
  end
  if job[19] == 'legacy' and not untwin(id) and status ~= 'started' then return end
  -- What lies in a queue is watched, unless an outsider put it there.
  if (redis.call('ZREM', watched_key, id) == 0 or job[18]) and status ~= 'started' then
    local admitted = admit(id, queue, admits)
    if not admitted then return admitted == nil and 'later' or nil end
  end
  attempt = attempt + 1
  -- The lease first: a started job without one would be found by nobody.
  redis.call('ZADD', leases_key, lease_until, id)
  redis.call('HSET', key, 'status', 'started', 'attempt', attempt, 'started_at', now_text, 'updated_at', now_text, 'lease', server, 'actor', slots[slot])
  if not job[6] then redis.call('HSET', key, 'script_type', script_type) end
  if job[19] then mirror(id, job[19], 'started') end
  event(id, 'started', attempt)
  if job[21] then redis.call('HDEL', key, 'released') else count(script_type, 'started') end
  taken[#taken + 1] = { slot, owned, id, attempt, claim_of(attempt, job[20]), unpack(job, 7, 17) }
  room[slot] = room[slot] - 1
end

local keys, owners = {}, {}
for queue = 1, queues do
  keys[queue], owners[queue] = take(), tonumber(take())
end
local sorts, most_running = take() == 'fair', tonumber(take())
local asked = wanted
-- Whoever asked so long ago does not wait for an answer any more, and would not know what was taken for him.
local LATE = 5500
local late = wanted > 0 and delay > LATE
if late then wanted = 0 end
if share_of then wanted = share_of(most_running, own_type, wanted) end

-- Behind the queues, what else is empty nearly always: marks that one is paused or sorted, and stops that nobody has read.
keys[queues + 1], keys[queues + 2], keys[queues + 3] = paused_key, fair_key, control_key(own_type)
for slot, actor in ipairs(slots) do keys[queues + 3 + slot] = control_instance_key(actor) end
local paused, sorted, marked, not_empty = false, false, false, 0
-- One look at all of it costs as much as one pop.
if asked > 0 and redis.call('EXISTS', unpack(keys)) > 0 then
  marked = redis.call('EXISTS', paused_key, fair_key) > 0
  paused, sorted = marked and redis.call('EXISTS', paused_key) == 1, marked and redis.call('EXISTS', fair_key) == 1
  not_empty = redis.call('EXISTS', unpack(keys, 1, queues))
  for control = queues + 3, wanted > 0 and redis.call('EXISTS', unpack(keys, queues + 3)) > 0 and #keys or 0 do
    for _, id in ipairs(try('LRANGE', keys[control], 0, 1023) or {}) do pending[id] = true end
  end
end
-- Where jobs are sorted and this script cannot take them in turn, the next call is one that can.
if sorted and not take_in_turn then wanted = 0 end
if wanted == 0 then not_empty = 0 elseif take_in_turn and (sorted or not_empty > 0) then not_empty = math.huge end
if not_empty > 0 then
  for queue, owner in ipairs(owners) do
    local key = keys[queue]
    if not_empty == 0 then break end
    local seen, open = false, not (paused and is_paused(key))
    while open and #taken < wanted and left_to_look_at > 0 do
      left_to_look_at = left_to_look_at - 1
      local slot = owner > 0 and owner or roomiest()
      if room[slot] <= 0 then break end
      local id
      if take_in_turn and owner == 0 then id = take_in_turn(key, sorts) else id = try('RPOP', key) end
      if not id then break end
      seen = true
      if claim(id, key, slot, owner > 0 and '1' or '') == 'later' then
        -- The next call begins with it.
        try('RPUSH', key, id)
        left_to_look_at = 0
      end
    end
    if seen then not_empty = not_empty - 1 end
  end
end

if share_of and asked > 0 then stand_in_line(own_type, #taken == wanted and wanted < asked and hold_more(keys, queues, paused), #taken > 0) end
flush()
local others = tonumber(take())
-- The operator named them: this user of Redis may have no right to them, which is no reason to stop.
local there = others > 0 and #taken < wanted and redis.pcall('EXISTS', unpack(ARGV, at + 1, at + others)) or 0
local adoptable = type(there) == 'number' and there > 0
local more = left_to_look_at == 0 or sorted and not take_in_turn
return { statuses, taken, stopped, late and 2 or more and 1 or 0, releases, marked and redis.call('EXISTS', fair_key) or sorts and 1 or 0,
  adoptable and 1 or 0, now }
