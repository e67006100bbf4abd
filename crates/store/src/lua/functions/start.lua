-- Flags:
-- Starts created jobs.
-- ARGV  queue length limit · ids …
-- Gives for each job {'started', status, script type} · {'illegal', status} · {'missing'} · {'full', length}.
local read = jobs.reader('status', 'script_type', 'group', 'instance', 'priority', 'run_at_ms', 'id', 'parent_id', 'open', 'dialect')

-- The length of each queue with the jobs of this call; the jobs that are pushed there at the end, and the ids of all of
-- them.
local lengths, to_push, queued = {}, {}, {}

-- Queues a job that waits for nothing, together with the others of this call.
local function enqueue_later(id, script_type, queue)
  -- The watch first: a later job of this call may be its child, and after a failure half-way the job is pushed again.
  queues.watch(id, script_type)
  local added = redis.call('HSET', keys.job(id), 'status', 'dispatched', 'queued_at', request.now_text, 'updated_at', request.now_text)
  field_counts.grow(id, added)
  queues.add(to_push, queue, script_type, id)
  queued[#queued + 1] = id
  news.count(script_type, 'dispatched')
  news.event(id, 'dispatched', '0')
end

local function start(id, limit)
  local job = links.read(read, id)
  if not job or not (job.status or job.id) then return { 'missing' } end
  if job.status ~= 'created' then return { 'illegal', values.status_of(job.status) } end
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
  -- A job of another layout, or without a type, may go elsewhere.
  local status = 'dispatched'
  if open == 0 and is_due and job.script_type and not job.dialect then
    enqueue_later(id, script_type, queue)
  else
    status = routing.begin(id, 0, script_type, queue, due, open)
  end
  if status == 'dispatched' then lengths[queue] = (lengths[queue] or 0) + 1 end
  return { 'started', status, script_type }
end

return function()
  local empty, limit, answers = request.empty, request.take_number(), {}
  local closed = access.refuse_closed()
  if closed then return closed end
  lengths, to_push, queued = empty(lengths), empty(to_push), empty(queued)
  while request.has_more() do answers[#answers + 1] = start(request.take(), limit) end
  queues.push_all(to_push)
  if #queued > 0 then commands.try('ZREM', keys.scheduled, unpack(queued)) end
  news.send()
  return answers
end
