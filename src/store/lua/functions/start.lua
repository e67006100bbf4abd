-- Flags:
-- Starts created jobs.
-- ARGV  queue length limit · ids …
-- Gives for each job {'started', status, script type} · {'illegal', status} · {'missing'} · {'full', length}.
local read = jobs.reader('status', 'script_type', 'group', 'instance', 'priority', 'run_at_ms', 'id', 'parent_id', 'open', 'dialect')

-- How long each queue is, with what this call puts into it; what it puts there, and the ids of all those.
local lengths, pushed, queued = {}, {}, {}

-- Puts a job that waits for nothing into its queue, together with the others of this call.
local function enqueue(id, script_type, queue)
  local added = redis.call('HSET', keys.job(id), 'status', 'dispatched', 'queued_at', request.now_text, 'updated_at', request.now_text)
  notes.grow(id, added)
  queues.add(pushed, queue, script_type, id)
  queued[#queued + 1] = id
  news.count(script_type, 'dispatched')
  news.event(id, 'dispatched', '0')
  return 'dispatched'
end

local function start(id, limit)
  local job = read(id)
  if not job or not (job.status or job.id) then return { 'missing' } end
  if job.status ~= 'created' then return { 'illegal', job.status or 'dispatched' } end
  local script_type, due, open = job.script_type or jobs.DEFAULT_TYPE, tonumber(job.run_at_ms), tonumber(job.open) or 0
  local queue = keys.work(script_type, job.group, job.instance, job.priority)
  local is_due = not (due and due > request.now)
  if open == 0 and is_due then
    lengths[queue] = lengths[queue] or queues.waiting_in(queue) or math.huge
    if lengths[queue] >= limit then return queues.full(lengths[queue]) end
  end
  if job.parent_id then
    open = open + relations.link_parent(id, job.parent_id)
    redis.call('HSET', keys.job(id), 'open', open, 'linked', '1')
  end
  -- One of another layout, or without a type, may go elsewhere.
  local is_plain = open == 0 and is_due and job.script_type and not job.dialect
  local status = is_plain and enqueue(id, script_type, queue) or routing.begin(id, 0, script_type, queue, due, open)
  if status == 'dispatched' then lengths[queue] = (lengths[queue] or 0) + 1 end
  return { 'started', status, script_type }
end

return function()
  local empty, limit, answers = request.empty, request.take_number(), {}
  lengths, pushed, queued = empty(lengths), empty(pushed), empty(queued)
  while request.has_more() do answers[#answers + 1] = start(request.take(), limit) end
  queues.push_all(pushed, false)
  if #queued > 0 then commands.try('ZREM', keys.scheduled, unpack(queued)) end
  news.send()
  return answers
end
