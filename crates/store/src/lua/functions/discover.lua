-- Flags: allow-oom
-- Discovers jobs that foreign programs wrote: adds them to the index, and does everything that follows from their
-- state.
-- ARGV  the time a day ago · time for which a job is kept that is never started, ms · ids …
-- Gives {number of jobs that were new, script types that have work …}.
local read = jobs.end_reader('status', 'id', 'script', 'updated_at', 'created_at', 'run_at_ms', 'script_type', 'group', 'instance',
  'priority', 'unseen')

-- Continues a job from the state in which a foreign program left it. `old`: long ago. `admitted`: its relations let it
-- run.
local function go_on(id, job, status, old, admitted, given_up)
  local key, script_type = keys.job(id), job.script_type or jobs.DEFAULT_TYPE
  if status == 'dispatched' then
    if admitted then redis.call('ZADD', keys.watched, request.now, id) end
  elseif values.is_final(status) and not old then
    foreign.settle(id, status)
  elseif values.is_final(status) then
    if redis.call('TTL', key) == -1 then redis.call('EXPIRE', key, ends.seconds_kept(status, job)) end
    if job.rel then ends.release(id, status, job.rel) end
  elseif old then
    -- It stays as it was left long ago, and nothing else lists it.
    commands.insist('ZADD', keys.index_of_status('left'), values.digits(request.now), id)
  elseif status == 'started' then
    redis.call('ZADD', keys.watched, request.now, id)
  elseif status == 'created' then
    redis.call('ZADD', keys.scheduled, given_up, id)
  elseif status == 'scheduled' then
    news.schedule(id, values.number(job.run_at_ms, request.now))
  elseif status == 'waiting_for_prerequisites' and admitted then
    routing.begin(id, 0, script_type, keys.work(script_type, job.group, job.instance, job.priority), nil, 0)
    request.has_work(script_type)
  end
end

-- Discovers a job. True: it was new. `admits`: the relations that this call followed for foreign jobs.
local function discover(id, day_ago, given_up, admits)
  -- Nearly all are known, and this check is all that they cost.
  if not values.is_uuid(id) or foreign.is_known(id) then return false end
  local job = read(id)
  if not (job.status or job.id or job.script) then return false end
  -- A job that is known only from others is watched until everything that follows from its state is done.
  local settled = job.unseen and not redis.call('ZSCORE', keys.watched, id)
  local status, last, admitted = values.status_of(job.status), job.updated_at or job.created_at or '', nil
  local old = string.find(last, '^%d%d%d%d%-%d%d%-%d%dT') and last < day_ago
  if not settled and (status == 'dispatched' or status == 'waiting_for_prerequisites' and not old) then
    admitted = foreign.admit(id, nil, admits)
    -- Too much was followed in this call. A later call discovers it.
    if admitted == nil then return false end
  else
    foreign.list(id, job.created_at)
    redis.call('HDEL', keys.job(id), 'unseen')
    if status == 'error' then jobs.list_error(id) end
  end
  if not settled then go_on(id, job, status, old, admitted, given_up) end
  return true
end

return function()
  local day_ago, given_up, new, admits = request.take(), request.now + request.take(), 0, {}
  while request.has_more() do
    if discover(request.take(), day_ago, given_up, admits) then new = new + 1 end
  end
  news.send_all()
  return { new, unpack(request.types) }
end
