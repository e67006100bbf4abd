#!lua flags=allow-oom
-- Deletes a job that does not run, with everything of its own. Those that wait for it are let go as if it had ended in error.
-- ARGV  9 id
-- Gives {'deleted'} · {'illegal', status} · {'open', status} (its children have not ended) · {'missing'}.
local id = ARGV[9]
local key = job_prefix .. id
local job = try('HMGET', key, 'status', 'script_type', 'group', 'instance', 'priority', 'id', 'origin', 'rel', 'actor', 'worker_id')
if not job or not (job[1] or job[6]) and redis.call('EXISTS', key) == 0 then return { 'missing' } end
if job[1] == 'started' then return { 'illegal', job[1] } end
local status = job[1]
if is_final(status) and is_unsettled(id) then
  -- A foreign actor has just ended it. Those who wait for it are let go by that end.
  status = settle(id, status)
end
-- Its heirs and its own parent wait for them, and its hash says who that is.
if redis.call('EXISTS', rel_key(id, 'active')) == 1 or is_final(status) and not closed(id) then
  flush()
  tell_own()
  return { 'open', status }
end
unlink(id)
-- One that has ended is in no queue, unless an outsider put it there, and looking for it in a long one takes long.
local LONG = 1000
if not is_final(status) or (try('LLEN', work_key(job[2] or 'osis', job[3], job[4], job[5])) or LONG) < LONG then
  withdraw(id, job[2], job[3], job[4], job[5])
end
forget_stops(id, job[2] or 'osis', job[9], job[10])
erase(id)
-- The relatives of one that has ended are released already, or are about to be.
if job[8] and not is_final(status) then release(id, 'deleted', job[8]) end
notify(job[7], id)
flush()
return { 'deleted' }
