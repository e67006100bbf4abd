-- Flags: allow-oom
-- Stops a job that has not ended.
-- ARGV  id
-- Gives {'stopped', script type} (it ended here: it had not started, or is away) · {'asked', script type, owner} (its actor was told;
--       owner '' is a foreign one) · {'ended', status} · {'missing'}.
local try = commands.try
local read = jobs.end_reader('status', 'attempt', 'lease', 'actor', 'worker_id', 'script_type', 'group', 'instance', 'priority', 'id',
  'stop_requested_at')

-- Puts a request to stop into a queue. Repeated requests are in it once. If there are very many others, it may be far
-- back: then it is not added again.
local function tell(queue, id, was_told)
  if commands.is_long(queue) then
    if not commands.remove(queue, id, 1) and was_told then return end
  else
    try('LREM', queue, 0, id)
  end
  if try('LPUSH', queue, id) then redis.call('EXPIRE', queue, jobs.CONTROL_SECONDS) end
end

return function()
  local id = request.take()
  local job = links.read(read, id)
  if not job or not (job.status or job.id or job.script_type) and not jobs.exists(id) then return { 'missing' } end
  local status, script_type = values.status_of(job.status), job.script_type or jobs.DEFAULT_TYPE
  if values.is_final(status) then return { 'ended', status } end

  if status ~= 'started' then
    routing.withdraw(id, script_type, job)
    ends.fail(id, job.attempt or 0, 'stopped', 'stopped', job)
    news.send()
    return { 'stopped', script_type }
  end

  if job.lease == messages.AWAY then
    messages.stop(id, job)
    news.send()
    return { 'stopped', script_type }
  end
  local was_told = job.stop_requested_at and true or false
  redis.call('HSET', keys.job(id), 'stop_requested_at', request.now_text, 'updated_at', request.now_text)
  if job.lease and job.lease ~= '' then
    local queue = job.actor and keys.control_instance(job.actor)
    if queue then tell(queue, id, was_told) end
    redis.call('PUBLISH', keys.inbox(job.lease), 'stop ' .. keys.context .. ' ' .. id)
    return { 'asked', script_type, job.lease }
  end
  tell(keys.control(script_type), id, was_told)
  if job.worker_id then tell(keys.stop_queue(job.worker_id), id, was_told) end
  return { 'asked', script_type, '' }
end
