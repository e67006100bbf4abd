-- Flags: allow-oom
-- Does something with all jobs of a flow, some of them with each call: the caller calls again while there is more to
-- do, and if it is gone, the servers continue (keys.flows_to_do).
-- ARGV  number of the flow · 'stored' (its jobs are there), 'give_up' (they will not be), 'start', 'stop', 'retry', 'delete'
--       or 'on' (continues the pending operation) · queue length limit
-- Gives {'missing'} · {'illegal', status} (impossible in this status) · {'busy', pending operation} · {'done', status}
-- · {'more', status} · {'later', status} (a queue is full, or the end has to wait; the servers continue).
local try, insist = commands.try, commands.insist

-- The number of jobs that each operation handles in a call.
local A_ROUND = { starting = 32, stopping = 12, counting = 128, retrying = 16, deleting = 16, keeping = 64 }
-- The time after which others check the flow if a queue is full, ms.
local FULL = 500
-- The number of relations that may be followed in a round.
local MOST_FOLLOWED = 1000

local number, flow, limit

local function set(...) insist('HSET', keys.flow(number), ...) end

local function work(what)
  set('updated_at', coordinator.seconds())
  flows.begin(number, what, flows.GONE)
  flow.busy, flow.at = what, '0'
end

-- Takes over a flow of another program, which has counted nothing: its jobs are counted when they are taken over one by
-- one.
local function take_over()
  local _, many = flows.jobs_of(flow, 0, 0)
  set('total', many, 'open', '0', 'failed', '0', 'foreign', '1')
  insist('ZADD', keys.flows, number, number)
end

-- Takes over a job of such a flow, which its name in the list of the flow identifies. It comes into the queue of its
-- type, if nobody has put it there before, and from there to us like all jobs of runners. False: that queue is full.
local function take_over_job(of_job)
  local id, element = layouts.id_of(of_job), string.sub(of_job, #keys.prefix + 1)
  local known = try('HMGET', of_job, 'status', 'script_type', 'name')
  -- A key of another type belongs to somebody else, and is no job.
  if not known then return commands.increase(keys.flow(number), 'failed', 1) end
  local noted, script_type, name = unpack(known, 1, 3)
  local ours, count = jobs.status(id), 'open'
  if flows.is_over(ours or noted) then count = (ours or noted) == 'error' and 'failed' or nil end
  local queue = keys.runner_queue(values.is_name(script_type) and script_type or jobs.DEFAULT_TYPE)
  local is_new = count == 'open' and not ours
  if is_new and messages.length(queue) >= tonumber(limit) then return false end
  local digits = string.match(of_job, '%d+$')
  insist('HSET', of_job, 'id', digits, 'flow', number, 'job_id', id, 'status', noted or 'dispatched', 'name', name or digits)
  if ours then redis.call('HSET', keys.job(id), 'flow', number) end
  -- A runner of the other program has it.
  if is_new and noted == 'started' then redis.call('HSET', of_job, 'elsewhere', '1') end
  if count then commands.increase(keys.flow(number), count, 1) end
  if is_new then insist('LPUSH', queue, element) end
  return true
end

-- Begins the requested operation. Returns an answer instead if it is impossible.
local function begin(action)
  local is_busy = flow.busy and flow.busy ~= ''
  if action == 'stored' then
    if flow.busy == 'storing' then
      set('busy', '')
      try('ZREM', keys.flows_to_do, number)
      flow.busy = ''
      -- The jobs that all others wait for may have ended with their own prerequisites.
      flows.settle(number, flow)
      flow = flows.read(number) or flow
    end
    if flow.busy == 'ending' then return nil end
    return { 'done', flow.status }
  end
  local is_over = flows.is_over(flow.status)
  local closed = (action == 'start' or action == 'retry') and access.refuse_closed()
  if closed then return closed end
  if action == 'start' then
    if flow.begun_at or is_over then return { 'illegal', flow.status } end
    if is_busy then return { 'busy', flow.busy } end
    if not try('HGET', keys.flow(number), 'total') then take_over() end
    set('begun_at', request.now_text)
    redis.call('PERSIST', keys.flow(number))
    work('starting')
  elseif action == 'stop' then
    if is_over then return { 'illegal', flow.status } end
    -- All of its jobs have ended.
    if flow.busy == 'ending' then return nil end
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

-- The operations on jobs: nil continues with the next, a text ends the round: 'later' (this job has to wait), 'more'
-- (enough for now).
local step = {}

-- Notes whether one of these jobs need not wait for any other.
local function note_whether_it_goes(of_jobs)
  if flow.awaits ~= '1' then return end
  for _, of_job in ipairs(of_jobs) do
    if try('HGET', of_job, 'status') ~= 'waiting_for_prerequisites' then return set('goes', '1') end
  end
end

function step.starting(ids, of_jobs)
  if try('HGET', keys.flow(number), 'foreign') == '1' then
    for at, of_job in ipairs(of_jobs) do
      if not try('HGET', of_job, 'job_id') and not take_over_job(of_job) then return 'later', at - 1 end
    end
  end
  local answers = calling.with({ limit, unpack(ids) }, functions.start)
  -- The context is being deleted.
  if answers.err then return 'later', 0 end
  for at, answer in ipairs(answers) do
    if answer[1] == 'full' then return 'later', at - 1 end
    redis.call('PERSIST', of_jobs[at])
  end
  note_whether_it_goes(of_jobs)
end

function step.keeping(ids, of_jobs)
  for at, id in ipairs(ids) do flows.keep(number, of_jobs[at], id) end
end

-- First all of them are kept: the flow may end with any of these, and needs the jobs that ended before until then. Each
-- job follows those that it waits for, so that a failure of one of these is known by then.
function step.stopping(ids, of_jobs)
  step.keeping(ids, of_jobs)
  local followed, done = 0, #ids
  for at, id in ipairs(ids) do
    local told, looked = nil, 0
    if jobs.status(id) == 'waiting_for_prerequisites' then told, looked = relations.failure_before(id) end
    if told then relations.give_up(id, told) else calling.with({ id }, functions.stop) end
    followed = followed + looked
    if followed > MOST_FOLLOWED then
      done = at
      break
    end
  end
  news.send_all()
  return done < #ids and 'more' or nil, done
end

-- Counts anew the jobs that have not ended and those that failed, because a program that writes or deletes hashes by
-- hand tells no flow. Changes in the meantime are added to the counts (flows.note).
function step.counting(ids, of_jobs)
  local open, failed = 0, 0
  for at, id in ipairs(ids) do
    local noted = try('HGET', of_jobs[at], 'status')
    local status = id ~= '-' and jobs.status(id)
    local word = status and layouts.named.runner.words[values.status_of(status)]
    -- A job that is gone had finished, or never will.
    if not word then word = noted == 'finished' and noted or 'error' end
    if word ~= noted and noted then insist('HSET', of_jobs[at], 'status', word) end
    if not flows.is_over(word) then open = open + 1 end
    if word == 'error' then failed = failed + 1 end
  end
  commands.increase(keys.flow(number), 'counted_open', open)
  commands.increase(keys.flow(number), 'counted_failed', failed)
  set('counted_to', string.match(of_jobs[#of_jobs], '%d+$'))
end

function step.retrying(ids, of_jobs)
  local followed = 0
  for at, id in ipairs(ids) do
    if jobs.status(id) == 'error' then
      local answer = calling.with({ id, limit, '' }, functions.retry)
      if answer.err or answer[2] == 'full' then return 'later', at - 1 end
      followed = followed + answer[1]
    end
    flows.keep(number, of_jobs[at], id)
    if followed > MOST_FOLLOWED then return 'more', at end
  end
end

function step.deleting(ids, of_jobs)
  for at, id in ipairs(ids) do
    local answer = calling.with({ id }, functions.delete)
    -- Somebody has started it since.
    if answer[1] == 'illegal' then
      calling.with({ id }, functions.stop)
      return 'later', at - 1
    end
    redis.call('UNLINK', of_jobs[at])
  end
end

-- Does a round. Returns the remaining work ('more', 'later' or 'done') and the flow after it, or nil.
local function round()
  local what, at = flow.busy, tonumber(flow.at) or 0
  local of_jobs, many = flows.jobs_of(flow, at, A_ROUND[what])
  local ids = {}
  for place, of_job in ipairs(of_jobs) do
    local id = try('HGET', of_job, 'job_id')
    -- Somebody may have deleted it.
    ids[place] = flows.has(number, id) and id or '-'
  end
  local why, done = nil, #ids
  if #ids > 0 then
    local ended, up_to = step[what](ids, of_jobs)
    why, done = ended, up_to or #ids
  end
  at = at + done
  local now = flows.read(number)
  -- The round may have changed it: a failed job makes the others stop, and the last end begins that of the flow.
  if not now or now.busy ~= what then return 'more', now end
  if why ~= 'later' and at >= many then return 'done', now end
  set('at', values.digits(at))
  flows.look_at(number, why == 'later' and FULL or flows.GONE)
  return why or 'more', now
end

-- Continues the end of a flow, which may have to wait.
local function go_on_ending()
  local pause = flows.pause_of(flow)
  if pause > 0 then
    flows.look_at(number, pause)
    return { 'later', flow.status }
  end
  local is_over = flows.end_some(number, flow)
  return { is_over and 'done' or 'more', try('HGET', keys.flow(number), 'status') or flow.status }
end

-- Completes an operation that has been done with all jobs of a flow.
local function finish(what)
  if what == 'deleting' then
    redis.call('UNLINK', keys.flow(number))
    try('ZREM', keys.flows, number)
    try('ZREM', keys.flows_to_do, number)
    return { 'done', flow.status }
  end
  if what == 'stopping' then
    work('counting')
    return { 'more', flow.status }
  end
  if what == 'counting' then
    local open, failed = unpack(try('HMGET', keys.flow(number), 'counted_open', 'counted_failed') or {}, 1, 2)
    flow.open, flow.failed = open or '0', failed or '0'
    set('open', flow.open, 'failed', flow.failed)
  elseif what == 'starting' and flow.awaits == '1' and not flow.started_at and flow.status == 'dispatched' then
    -- If the flow is still dispatched: its first jobs may wait for others.
    if not try('HGET', keys.flow(number), 'goes') then set('status', 'waiting_for_prerequisites') end
  end
  flows.forget_rounds(number)
  set('busy', '', 'at', '0')
  flow.busy = ''
  try('ZREM', keys.flows_to_do, number)
  flows.settle(number, flow)
  local now = flows.read(number) or flow
  return { now.busy == 'ending' and 'more' or 'done', now.status }
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
  -- A flow that is being deleted is gone for everybody else.
  local is_makers = action == 'stored' or action == 'give_up'
  local is_gone = flow.busy == 'deleting' or flow.busy == 'storing' and not is_makers
  if is_gone and action ~= 'on' then return { 'missing' } end
  if flow.busy == 'storing' and action == 'on' then
    local due = tonumber(try('ZSCORE', keys.flows_to_do, number) or nil)
    if due and due > request.now then return { 'done', flow.status } end
    -- Its creator has had enough time, and cannot have the flow any more.
    try('ZREM', keys.flows, number)
    work('deleting')
  end
  local refused = begin(action)
  if refused then return refused end
  if flow.busy == 'ending' then return go_on_ending() end
  if not step[flow.busy] then
    try('ZREM', keys.flows_to_do, number)
    return { 'done', flow.status }
  end
  local what, status = flow.busy, flow.status
  local left, now = round()
  if left ~= 'done' then return { left, now and now.status or status } end
  flow = now
  return finish(what)
end
