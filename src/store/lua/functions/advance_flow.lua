-- Flags: allow-oom
-- Does something with all jobs of a flow, some of them with each call: whoever began it calls again while there is more to do, and where
-- that one is gone the servers do (keys.flows_to_do).
-- ARGV  number of the flow · 'stored' (its jobs are there), 'give_up' (they will not be), 'start', 'stop', 'retry', 'delete'
--       or 'on' (what was begun) · queue length limit
-- Gives {'missing'} · {'illegal', status} (that cannot be done now) · {'busy', what is being done} · {'done', status}
-- · {'more', status} · {'later', status} (a queue is full; the servers go on).
local try, insist = commands.try, commands.insist

-- So many jobs a call, and when others look at the flow where nobody calls again, ms; the same where a queue is full.
local A_ROUND, GONE, FULL = 64, 5000, 500
-- How many relations may be followed in a round.
local MOST_FOLLOWED = 5000

local number, flow, limit

local function set(...) insist('HSET', keys.flow(number), ...) end

local function work(what)
  set('busy', what, 'at', '0', 'updated_at', coordinator.seconds())
  flow.busy, flow.at = what, '0'
  flows.look_at(number, GONE)
end

-- Begins what is asked for. Gives an answer instead if it cannot be done.
local function begin(action)
  local is_busy = flow.busy and flow.busy ~= ''
  if action == 'stored' then
    if flow.busy == 'storing' then
      set('busy', '')
      try('ZREM', keys.flows_to_do, number)
      flow.busy = ''
      -- Those that all others wait for may have ended with what they wait for.
      flows.settle(number, flow)
    end
    return { 'done', try('HGET', keys.flow(number), 'status') or flow.status }
  end
  local is_over = flows.is_over(flow.status)
  if action == 'start' then
    if flow.begun_at or is_over then return { 'illegal', flow.status } end
    if is_busy then return { 'busy', flow.busy } end
    set('begun_at', request.now_text)
    redis.call('PERSIST', keys.flow(number))
    work('starting')
  elseif action == 'stop' then
    if is_over then return { 'illegal', flow.status } end
    if flow.busy ~= 'stopping' then work('stopping') end
    set('stopped', '1', 'failing', '1')
  elseif action == 'retry' then
    if is_busy then return { 'busy', flow.busy } end
    if flow.status ~= 'error' then return { 'illegal', flow.status } end
    set('status', 'started', 'result', '{}', 'begun_at', flow.begun_at or request.now_text)
    redis.call('HDEL', keys.flow(number), 'finished_at', 'stopped', 'failing', 'left_out')
    redis.call('PERSIST', keys.flow(number))
    work('retrying')
  elseif action == 'delete' or action == 'give_up' then
    if is_busy and action == 'delete' then return { 'busy', flow.busy } end
    -- Its jobs may have been started one by one.
    local is_untouched = not flow.begun_at and flow.status == 'dispatched'
    if not is_over and not is_untouched then return { 'illegal', flow.status } end
    try('ZREM', keys.flows, number)
    work('deleting')
  end
  return nil
end

-- What is done with each job: nil goes on with the next, a text ends the round: 'later' (this job has to wait), 'more' (enough for now).
local step = {}

function step.starting(ids, of_jobs)
  local answers = calling.with({ limit, unpack(ids) }, functions.start)
  for at, answer in ipairs(answers) do
    if answer[1] == 'full' then return 'later', at - 1 end
    redis.call('PERSIST', of_jobs[at])
  end
end

function step.stopping(ids)
  for _, id in ipairs(ids) do calling.with({ id }, functions.stop) end
end

function step.retrying(ids, of_jobs)
  local followed = 0
  for at, id in ipairs(ids) do
    if jobs.status(id) == 'error' then
      local answer = calling.with({ id, limit, '' }, functions.retry)
      if answer[2] == 'full' then return 'later', at - 1 end
      followed = followed + answer[1]
    end
    flows.keep(number, of_jobs[at], id)
    if followed > MOST_FOLLOWED then return 'more', at end
  end
end

function step.deleting(ids, of_jobs)
  for at, id in ipairs(ids) do
    local answer = calling.with({ id }, functions.delete)
    -- Somebody has started it meanwhile.
    if answer[1] == 'illegal' then
      calling.with({ id }, functions.stop)
      return 'later', at - 1
    end
    redis.call('UNLINK', of_jobs[at])
  end
end

-- Does a round. Gives what is left to do: 'more', 'later' or 'done'.
local function round()
  local of_jobs, at = flows.jobs_of(flow.caller_id, flow.jobs), tonumber(flow.at) or 0
  local ids, these = {}, {}
  for place = at + 1, math.min(at + A_ROUND, #of_jobs) do
    local id = try('HGET', of_jobs[place], 'job_id')
    -- Somebody may have deleted it.
    ids[#ids + 1], these[#these + 1] = flows.has(number, id) and id or '-', of_jobs[place]
  end
  local why, done = nil, #ids
  if #ids > 0 then
    local ended, many = step[flow.busy](ids, these)
    why, done = ended, many or #ids
  end
  at = at + done
  if why == 'later' or at < #of_jobs then
    set('at', values.digits(at))
    flows.look_at(number, why == 'later' and FULL or GONE)
    return why or 'more'
  end
  return 'done'
end

-- Counts anew which jobs have not ended and which failed. Whoever writes or deletes hashes by hand tells no flow.
local function count()
  local open, failed = 0, 0
  for _, key in ipairs(flows.jobs_of(flow.caller_id, flow.jobs)) do
    local id, noted = unpack(try('HMGET', key, 'job_id', 'status') or {}, 1, 2)
    local word = flows.has(number, id) and layouts.named.runner.words[jobs.status(id) or '']
    -- One that is gone had finished, or never will.
    if not word then word = noted == 'finished' and noted or 'error' end
    if word ~= noted and noted then insist('HSET', key, 'status', word) end
    if not flows.is_over(word) then open = open + 1 end
    if word == 'error' then failed = failed + 1 end
  end
  insist('HSET', keys.flow(number), 'open', open, 'failed', failed)
end

-- Where a flow is that has been started: its first jobs may wait for others.
local function begun()
  if flow.awaits ~= '1' or flow.started_at then return end
  for _, key in ipairs(flows.jobs_of(flow.caller_id, flow.jobs)) do
    local status = try('HGET', key, 'status')
    if status ~= 'waiting_for_prerequisites' then return end
  end
  if try('HGET', keys.flow(number), 'status') == 'dispatched' then set('status', 'waiting_for_prerequisites') end
end

return function()
  number = request.take()
  local action = request.take()
  limit = request.take()
  flow = flows.read(number)
  if not flow then
    try('ZREM', keys.flows_to_do, number)
    try('ZREM', keys.flows, number)
    return { 'missing' }
  end
  -- One that is being deleted is gone for everybody else.
  local is_makers = action == 'stored' or action == 'give_up'
  local is_gone = flow.busy == 'deleting' or flow.busy == 'storing' and not is_makers
  if is_gone and action ~= 'on' then return { 'missing' } end
  if flow.busy == 'storing' and action == 'on' then
    local due = tonumber(try('ZSCORE', keys.flows_to_do, number) or nil)
    if due and due > request.now then return { 'done', flow.status } end
    -- Whoever makes it has had its time, and cannot have it any more.
    try('ZREM', keys.flows, number)
    work('deleting')
  end
  local refused = begin(action)
  if refused then return refused end
  if not step[flow.busy] then
    try('ZREM', keys.flows_to_do, number)
    return { 'done', flow.status }
  end
  local what = flow.busy
  local left = round()
  -- What was done may have changed it: a job that fails has the others stopped.
  local now = flows.read(number)
  if not now or now.busy ~= what then return { 'more', now and now.status or flow.status } end
  if left ~= 'done' then return { left, now.status } end
  if what == 'deleting' then
    redis.call('UNLINK', keys.flow(number))
    try('ZREM', keys.flows, number)
    try('ZREM', keys.flows_to_do, number)
    return { 'done', now.status }
  end
  set('busy', '', 'at', '0')
  try('ZREM', keys.flows_to_do, number)
  if what == 'stopping' then count() end
  now = flows.read(number) or now
  if what == 'starting' then
    flow = now
    begun()
  end
  flows.settle(number, now)
  return { 'done', try('HGET', keys.flow(number), 'status') or now.status }
end
