-- Flags: allow-oom
-- Deletes a job that does not run, with everything of its own. Those that wait for it are let go as if it had ended in error.
-- ARGV  id
-- Gives {'deleted'} · {'illegal', status} · {'open', status} (its children have not ended) · {'missing'}.
local try = commands.try
local read = jobs.reader('status', 'script_type', 'group', 'instance', 'priority', 'id', 'origin', 'rel', 'actor', 'worker_id',
  'created_at')

-- Of a queue that is as long as this nothing is taken out that should not be in it: looking for it takes long.
local LONG = 1000

return function()
  local id = request.take()
  local job = read(id)
  if not job or not (job.status or job.id) and not jobs.exists(id) then return { 'missing' } end
  if job.status == 'started' then return { 'illegal', job.status } end
  local status, script_type = job.status, job.script_type or jobs.DEFAULT_TYPE
  if values.is_final(status) and jobs.is_unsettled(id) then
    -- A foreign actor has just ended it. Those who wait for it are let go by that end.
    status = outsiders.settle(id, status)
  end
  -- Its heirs and its own parent wait for them, and its hash says who that is.
  if redis.call('EXISTS', keys.relatives(id, 'active')) == 1 or values.is_final(status) and not relations.is_closed(id) then
    news.send_all()
    return { 'open', status }
  end
  relations.unlink(id)
  -- One that has ended is in no queue, unless an outsider put it there.
  local queue = keys.work(script_type, job.group, job.instance, job.priority)
  if not values.is_final(status) or (try('LLEN', queue) or LONG) < LONG then placing.withdraw(id, job.script_type, job) end
  jobs.forget_stops(id, script_type, job.actor, job.worker_id)
  jobs.erase(id)
  if job.created_at then jobs.unlist(id, job.created_at) end
  -- The relatives of one that has ended are released already, or are about to be.
  if job.rel and not values.is_final(status) then ends.release(id, 'deleted', job.rel) end
  news.notify(job.origin, id)
  news.send()
  return { 'deleted' }
end
