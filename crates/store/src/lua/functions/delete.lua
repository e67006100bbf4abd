-- Flags: allow-oom
-- Deletes a job that does not run, with all of its keys. Jobs that wait for it are released as if it had ended in
-- error.
-- ARGV  id
-- Gives {'deleted'} · {'illegal', status} · {'open', status} (its children have not ended) · {'missing'}.
local read = jobs.reader('status', 'script_type', 'group', 'instance', 'priority', 'id', 'origin', 'rel', 'actor', 'worker_id',
  'created_at', 'dialect')

return function()
  local id = request.take()
  local job = links.read(read, id)
  if not job or not (job.status or job.id) and not jobs.exists(id) then return { 'missing' } end
  if values.status_of(job.status) == 'started' then return { 'illegal', 'started' } end
  local status, script_type = job.status, job.script_type or jobs.DEFAULT_TYPE
  if values.is_final(status) and jobs.is_unsettled(id) then
    -- A foreign actor has just ended it. That end releases the jobs that wait for it.
    status = foreign.settle(id, status)
  end
  -- It has children. Its continuations and its parent wait for these, and its hash names the parent.
  if redis.call('EXISTS', keys.relatives(id, 'active')) == 1 or values.is_final(status) and not relations.is_closed(id) then
    news.send_all()
    return { 'open', status }
  end
  relations.unlink(id)
  if job.dialect and not values.is_final(status) then layouts.mirror(id, job.dialect, 'error', 'deleted', jobs.REPLY_SECONDS, true) end
  -- A job that has ended is in no queue, unless a foreign program put it there.
  routing.withdraw(id, job.script_type, job)
  jobs.forget_stops(id, script_type, job.actor, job.worker_id)
  layouts.erase(id, job.dialect)
  if job.created_at then jobs.unlist(id, job.created_at) end
  -- The relatives of a job that has ended are released already, or are about to be.
  if job.rel and not values.is_final(status) then ends.release(id, 'deleted', job.rel) end
  news.notify(job.origin, id)
  news.send()
  return { 'deleted' }
end
