-- Starts created jobs.
-- ARGV  9 queue length limit   10… ids
-- Gives for each job {'started', status, script type} · {'illegal', status} · {'missing'} · {'full', length}.
-- Seldom: link_parent, mirror, twin_of
local limit, answers = tonumber(ARGV[9]), {}

-- How long each queue is, with what this call has put into it. A key that is no list takes nothing.
local lengths = {}

local function start(id)
  local key = job_prefix .. id
  local job = try('HMGET', key, 'status', 'script_type', 'group', 'instance', 'priority', 'run_at_ms', 'id', 'parent_id', 'open')
  if not job or not (job[1] or job[7]) then return { 'missing' } end
  if job[1] ~= 'created' then return { 'illegal', job[1] or 'dispatched' } end
  local script_type, due, open = job[2] or 'osis', tonumber(job[6]), tonumber(job[9]) or 0
  local queue = work_key(script_type, job[3], job[4], job[5])
  if open == 0 and not (due and due > now) then
    lengths[queue] = lengths[queue] or waiting_in(queue) or limit
    if lengths[queue] >= limit then return { 'full', lengths[queue] } end
  end
  if job[8] then
    open = open + link_parent(id, job[8])
    redis.call('HSET', key, 'open', open, 'linked', '1')
  end
  local status = begin(id, 0, script_type, queue, due, open)
  if status == 'dispatched' then lengths[queue] = lengths[queue] + 1 end
  return { 'started', status, script_type }
end

for at = 10, #ARGV do answers[at - 9] = start(ARGV[at]) end
flush()
return answers
