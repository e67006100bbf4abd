#!lua flags=allow-oom
-- Stops a job that has not ended.
-- ARGV  9 id
-- Gives {'stopped', script type} (it ended here) · {'asked', script type, owner} (its actor was told; owner '' is a foreign one)
-- · {'ended', status} · {'missing'}.
local id = ARGV[9]
local key = job_prefix .. id
local job = try('HMGET', key, 'status', 'attempt', 'lease', 'actor', 'worker_id', 'script_type', 'group', 'instance', 'priority', 'id', unpack(END_FIELDS))
if not job or not (job[1] or job[10] or job[6]) and redis.call('EXISTS', key) == 0 then return { 'missing' } end
local status, attempt, script_type = job[1] or 'dispatched', job[2] or 0, job[6] or 'osis'
if is_final(status) then return { 'ended', status } end

if status ~= 'started' then
  withdraw(id, script_type, job[7], job[8], job[9])
  fail(id, attempt, 'stopped', 'stopped', of_end(job, 11))
  flush()
  return { 'stopped', script_type }
end

redis.call('HSET', key, 'stop_requested_at', now_text, 'updated_at', now_text)
local function tell(queue)
  -- However often it is asked for, it is told once.
  if queue then try('LREM', queue, 0, id) end
  if queue and try('LPUSH', queue, id) then redis.call('EXPIRE', queue, CONTROL_SECONDS) end
end
if job[3] and job[3] ~= '' then
  tell(job[4] and control_instance_key(job[4]))
  redis.call('PUBLISH', inbox(job[3]), 'stop ' .. context .. ' ' .. id)
  return { 'asked', script_type, job[3] }
end
tell(control_key(script_type))
if job[5] then tell(legacy_stop_key(job[5])) end
return { 'asked', script_type, '' }
