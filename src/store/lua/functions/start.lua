-- Flags:
-- Starts created jobs.
-- ARGV  queue length limit · ids …
-- Gives for each job {'started', status, script type} · {'illegal', status} · {'missing'} · {'full', length}.
local read = jobs.reader('status', 'script_type', 'group', 'instance', 'priority', 'run_at_ms', 'id', 'parent_id', 'open')

-- `lengths`: how long each queue is, with what this call has put into it.
local function start(id, limit, lengths)
  local job = read(id)
  if not job or not (job.status or job.id) then return { 'missing' } end
  if job.status ~= 'created' then return { 'illegal', job.status or 'dispatched' } end
  local script_type, due, open = job.script_type or jobs.DEFAULT_TYPE, tonumber(job.run_at_ms), tonumber(job.open) or 0
  local queue = keys.work(script_type, job.group, job.instance, job.priority)
  if open == 0 and not (due and due > request.now) then
    lengths[queue] = lengths[queue] or queues.waiting_in(queue) or math.huge
    if lengths[queue] >= limit then return queues.full(lengths[queue]) end
  end
  if job.parent_id then
    open = open + relations.link_parent(id, job.parent_id)
    redis.call('HSET', keys.job(id), 'open', open, 'linked', '1')
  end
  local status = routing.begin(id, 0, script_type, queue, due, open)
  if status == 'dispatched' then lengths[queue] = (lengths[queue] or 0) + 1 end
  return { 'started', status, script_type }
end

return function()
  local limit, lengths, answers = request.take_number(), {}, {}
  while request.has_more() do answers[#answers + 1] = start(request.take(), limit, lengths) end
  news.send()
  return answers
end
