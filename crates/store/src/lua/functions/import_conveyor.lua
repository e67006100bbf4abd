-- Flags:
-- Imports jobs from a queue of the conveyor layout: each becomes a job of ours, or fails at once.
-- ARGV  'look' (memory may be short) or '-' · prefix of conveyor keys · queue · maximum length of a work queue
--       · elements, the first to take first, each: bytes · then
--       'job' · id · parent or '' · script type · number of fields and values other than those of every job · field · value …
--       'ill' · id · parent or '' · the job with the reason of its failure      'bad' (no job at all)
-- Gives for each 'taken' · 'full' (it stays in its queue: the work queue is full or paused, or nothing new may be
-- stored now) · 'gone' (another server took it) · 'twice' (it is being processed already) · 'other' (a job from
-- elsewhere has its id) · 'failed' · 'lost' (there is no list to keep a failed job).
local try = commands.try
local read = jobs.reader('dialect', 'status', 'script_type', 'actor', 'worker_id')

local function requeue(prefix, id, parent, element)
  local kept = conveyor.set_aside(prefix, element)
  conveyor.leave_parent(prefix, id, parent)
  return kept
end

local function import(prefix, bytes, job, bound, created)
  local id, key, known = job.id, keys.job(job.id), nil
  if jobs.exists(id) then
    known = read(id) or {}
    if known.dialect ~= 'conveyor' then return requeue(prefix, id, job.parent, bytes) and 'other' or 'lost' end
    if not values.is_final(known.status) then return 'twice' end
  end
  local work = keys.work(job.script_type)
  if queues.is_paused(work) or (queues.waiting_in(work) or bound) >= bound then return 'full' end
  -- A client that adds an ended job again wants it to run again.
  if known then
    jobs.forget_stops(id, known.script_type or job.script_type, known.actor, known.worker_id)
    redis.call('UNLINK', key)
  end
  jobs.clear_leftovers(id)
  redis.call('HSET', key, 'given_back', jobs.first_claim(), 'dialect', 'conveyor', 'dialect_key', conveyor.job_key(prefix, id),
    'dialect_parent', job.parent, 'rel', conveyor.relation(prefix), 'linked', '1', 'indexed', values.digits(request.now),
    jobs.new_fields(id, job.script_type, unpack(request.argv, job.first, job.last)))
  redis.call('SET', conveyor.job_key(prefix, id), bytes)
  -- No job is its own child, whatever its client says.
  try('SREM', conveyor.job_key(prefix, id, 'active'), id)
  for _, what in ipairs({ 'children', 'active', 'onComplete' }) do redis.call('PERSIST', conveyor.job_key(prefix, id, what)) end
  news.count(job.script_type, 'created')
  routing.begin(id, 0, job.script_type, work, nil, 0)
  created[#created + 1] = id
  return 'taken'
end

local function refuse_ill(prefix, id, parent, failed)
  if jobs.exists(id) then return requeue(prefix, id, parent, failed) and 'failed' or 'lost' end
  -- It ends like any other: its children end with it, its continuations run, its parent goes on.
  redis.call('SET', conveyor.job_key(prefix, id), failed)
  conveyor.ended(prefix, id, 'error')
  return 'failed'
end

local function take_job()
  local job = { id = request.take(), parent = request.take(), script_type = request.take() }
  local fields = request.take_number()
  job.first, job.last = request.at + 1, request.at + fields
  request.at = job.last
  return job
end

return function()
  local look, prefix, queue, bound, answers, created = request.take(), request.take(), request.take(), request.take_number(), {}, {}
  if access.is_closed() or request.is_nearly_full(look) then bound = 0 end
  while request.has_more() do
    local bytes, kind = request.take(), request.take()
    local there, answer, job, ill = conveyor.lies_in(queue, bytes), 'gone', nil, nil
    if kind == 'job' then job = take_job()
    elseif kind == 'ill' then ill = { request.take_many(3) } end
    if there and job then answer = import(prefix, bytes, job, bound, created)
    elseif there and bound == 0 then answer = 'full'
    elseif there and ill then answer = refuse_ill(prefix, unpack(ill))
    elseif there then answer = conveyor.set_aside(prefix, bytes) and 'failed' or 'lost' end
    if there and answer ~= 'full' then redis.call('LREM', queue, -1, bytes) end
    answers[#answers + 1] = answer
  end
  if #created > 0 then jobs.list_in(keys.index(request.now_text), unpack(created)) end
  news.send_all()
  return answers
end
