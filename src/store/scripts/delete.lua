-- Deletes a job that does not run, with everything of its own.
-- ARGV  9 id
-- Gives {'deleted'} · {'illegal', status} · {'missing'}.
local id = ARGV[9]
local key = job_prefix .. id
local job = try('HMGET', key, 'status', 'script_type', 'group', 'instance', 'priority', 'id', 'origin')
if not job or not (job[1] or job[6]) and redis.call('EXISTS', key) == 0 then return { 'missing' } end
if job[1] == 'started' then return { 'illegal', job[1] } end
redis.call('ZREM', scheduled_key, id)
if job[2] then try('LREM', work_key(job[2], job[3], job[4], job[5]), 1, id) end
redis.call('DEL', key, reply_prefix .. id, log_key(id))
notify(job[7], id)
flush()
return { 'deleted' }
