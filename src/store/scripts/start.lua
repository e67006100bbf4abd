-- Starts created jobs.
-- ARGV  9 queue length limit   10… ids
-- Gives for each job {'started', status, script type} · {'illegal', status} · {'missing'} · {'full', length}.
local limit, answers = tonumber(ARGV[9]), {}

local function start(id)
  local key = job_prefix .. id
  local job = try('HMGET', key, 'status', 'script_type', 'group', 'instance', 'priority', 'run_at_ms', 'id')
  if not job or not (job[1] or job[7]) then return { 'missing' } end
  if job[1] ~= 'created' then return { 'illegal', job[1] or 'dispatched' } end
  local script_type, due = job[2] or 'osis', tonumber(job[6])
  if due and due > now then
    redis.call('HSET', key, 'status', 'scheduled', 'updated_at', now_text)
    redis.call('ZADD', scheduled_key, due, id)
    event(id, 'scheduled', 0)
    return { 'started', 'scheduled', script_type }
  end
  local queue = work_key(script_type, job[3], job[4], job[5])
  local length = try('LLEN', queue) or limit
  if length >= limit then return { 'full', length } end
  redis.call('HSET', key, 'status', 'dispatched', 'queued_at', now_text, 'updated_at', now_text)
  redis.call('ZREM', scheduled_key, id)
  push(queue, script_type, id)
  count(script_type, 'dispatched')
  event(id, 'dispatched', 0)
  return { 'started', 'dispatched', script_type }
end

for at = 10, #ARGV do answers[at - 9] = start(ARGV[at]) end
flush()
return answers
