-- Flags:
-- Imports jobs of other layouts: moves them from their queues to ours, where they are taken like any other.
-- ARGV  'look' (memory may be short) or '-' · script type of the pool · number of jobs wanted
--       · number of queues, each: layout · key · then number of stop queues, each: key
-- Gives {number of elements checked, script types that have work …}.
local try, try_named = commands.try, commands.try_named
local read = jobs.end_reader('status', 'group', 'instance', 'priority', 'attempt')

-- The number of jobs that one call takes.
local MOST_TAKEN = 128
-- The number of elements that one call checks.
local MOST_LOOKED_AT = 256
-- The number of requests to stop of a queue that one call reads.
local MOST_STOPS = 1024
-- The time that an element waits for prerequisites, or for a later call, ms.
local FOR_ELSE = 1000
local RUNNER = layouts.named.runner.element
-- The maximum size of an environment that is read to be joined with another one, bytes.
local LONGEST_ENVIRONMENT = 262144
-- The maximum number of retries of a job.
local MOST_RETRIES = 255

-- The state of this call; each call sets it anew.
local own_type, stops, pending, order, admits, looks, failure

-- The queue that contained a request to stop a job, or nil.
local function stop_of(id)
  if not pending then
    pending = {}
    for _, queue in ipairs(stops) do
      for _, other in ipairs(try('LRANGE', queue, 0, MOST_STOPS - 1) or {}) do pending[other] = queue end
    end
  end
  return pending[id]
end

-- Checks an element again later, after a time in ms if the length of its wait is known.
local function later(queue, element, hash, pause)
  local due = request.digits_in(pause or hash and jobs.HASH_MILLIS or FOR_ELSE)
  commands.insist('ZADD', keys.unwritten, 'NX', due, element .. ' ' .. queue.key .. ' ' .. (hash or '-') .. ' ' .. own_type)
  news.due('jobs', request.now + jobs.NEXT_LOOK)
end

-- The id of our job for one with a key of its own. A UUID is kept, unless another job has it.
local function id_of(element, key)
  if values.is_uuid(element) and (not jobs.exists(element) or try('HGET', keys.job(element), 'dialect_key') == key) then return element end
  return layouts.id_of(key)
end

local THEIR_FIELDS = {
  'status', 'script', 'script_type', 'caller_id', 'timeout', 'retries', 'env_vars', 'client_rpc_id', 'created_at', 'updated_at',
  'reply_to_queue', 'reply_to', 'flow', 'job_id', 'args', 'inputs',
}
local named = values.naming(THEIR_FIELDS)

-- The time limit of a job of theirs, s, or nil.
local function timeout_of(job)
  local timeout = tonumber(job.timeout or nil)
  return timeout and timeout > 0 and timeout or nil
end

-- True if a job of theirs may be taken: it is new, or its actor has been silent for too long.
local function is_free(kind, job, timeout)
  local word, words = job.status or '', kind.words
  if word == words.started then
    local since = kind.seconds and (tonumber(job.updated_at) or 0) * 1000 or time.millis(job.updated_at) or 0
    return since + ((timeout or jobs.DEFAULT_TIMEOUT_SECONDS) + jobs.GRACE_SECONDS) * 1000 <= request.now
  end
  return word == '' or word == words.dispatched or word == words.waiting_for_prerequisites
end

-- The environment of a job of another program's flow: that of the flow, overridden by its own.
local function environment(flow, own)
  local shared, merged = try('HGET', keys.flow(flow), 'env_vars'), {}
  for _, text in ipairs({ shared or '', own or '' }) do
    local readable, found = pcall(cjson.decode, #text <= LONGEST_ENVIRONMENT and text or '')
    for name, value in pairs(readable and type(found) == 'table' and found or {}) do
      if type(name) == 'string' and type(value) == 'string' then merged[name] = value end
    end
    -- An unreadable environment is reported when the job runs.
    if text == own and not readable and own ~= '' then return own end
  end
  return next(merged) and cjson.encode(merged) or own
end

-- Writes our hash of a job of theirs.
local function write_mirror(id, queue, key, theirs, timeout)
  local retries = tonumber(theirs.retries)
  local fields = {
    'id', id, 'status', 'dispatched', 'dialect', queue.layout, 'dialect_key', key, 'context_id', keys.context,
    'updated_at', request.now_text, 'queued_at', request.now_text,
    'created_at', time.millis(theirs.created_at) and theirs.created_at or request.now_text,
    'script_type', values.is_name(theirs.script_type) and theirs.script_type or own_type, 'caller_id', theirs.caller_id or queue.layout,
  }
  local function add(field, value)
    if value and value ~= '' then fields[#fields + 1], fields[#fields + 2] = field, value end
  end
  add('script', theirs.script)
  add('timeout', timeout)
  add('retries', retries and retries >= 0 and retries <= MOST_RETRIES and theirs.retries)
  local of_flow = queue.kind.element == RUNNER and theirs.job_id == id and theirs.flow
  add('env_vars', of_flow and environment(of_flow, theirs.env_vars) or theirs.env_vars)
  -- Fields of a job that came with a message.
  add('args', queue.kind.element == RUNNER and theirs.args)
  add('inputs', queue.kind.element == RUNNER and theirs.inputs)
  add('flow', of_flow)
  add('retention', of_flow and flows.OPEN_SECONDS)
  add('client_rpc_id', theirs.client_rpc_id)
  if queue.kind.named then add('reply_to', theirs.reply_to_queue or theirs.reply_to) end
  redis.call('UNLINK', keys.job(id))
  jobs.clear_leftovers(id)
  redis.call('HSET', keys.job(id), 'given_back', jobs.first_claim(), unpack(fields))
end

-- Checks a job of another program's flow that a runner of that program has again and again, so that the flow learns of
-- its end.
local function follow(queue, element, job)
  if job.status == queue.kind.words.started then return later(queue, element) end
  local flow = redis.call('HDEL', keys.prefix .. element, 'elsewhere') == 1 and flows.read(job.flow)
  if flow and not flows.is_over(flow.status) then
    flows.note(job.flow, queue.kind.words.started, job.status, tonumber(string.match(element, '%d+$')))
  end
end

-- Checks whether a job of a runner may run now, before all of it is read. Returns 'runs', nil (not now), 'later' (the
-- next call checks) or 'fails' and the reason.
local function look_at(queue, element)
  local key, job = keys.prefix .. element, awaited.read(element)
  if not job then return nil end
  if redis.call('EXISTS', key) == 0 then return later(queue, element, key) end
  local id = id_of(element, key)
  -- It is a job of ours already, which its flow continues; not that of a flow that another program wrote.
  if job.flow and job.job_id ~= id then return nil end
  local status = jobs.status(id)
  if status and not values.is_final(status) then return 'runs' end
  if not is_free(queue.kind, job, timeout_of(job)) then return job.flow and not status and follow(queue, element, job) or nil end
  if job.flow and not try('HGET', key, 'script') then return 'fails', element .. ', of flow ' .. job.flow .. ', has no field script' end
  local found, told = awaited.look(element, job, looks)
  if found == 'again' then return 'later' end
  if found == 'waits' then return later(queue, element, nil, told) end
  return found, told
end

-- Creates our job for one that the layout keeps in a hash of its own. Returns its id if it may run; 'later': this call
-- has checked so much that the next one has to continue.
local function translate(queue, element)
  local kind, found, why = queue.kind, 'runs', nil
  if kind.element == RUNNER then found, why = look_at(queue, element) end
  if found ~= 'runs' and found ~= 'fails' then return found end
  local key = keys.prefix .. kind.prefix .. element
  local list = try('HMGET', key, unpack(THEIR_FIELDS))
  if not list then return nil end
  if redis.call('EXISTS', key) == 0 then return later(queue, element, key) end
  local theirs = named(list)
  local timeout = timeout_of(theirs)

  local id = id_of(element, key)
  local status = jobs.status(id)
  if status and not values.is_final(status) then return id end
  -- Somebody else runs it, or has run it.
  if not is_free(kind, theirs, timeout) then return nil end
  if status then
    local script_type, actor, worker = unpack(redis.call('HMGET', keys.job(id), 'script_type', 'actor', 'worker_id'))
    jobs.forget_stops(id, script_type or own_type, actor, worker)
  end
  write_mirror(id, queue, key, theirs, timeout)
  news.event(id, 'dispatched', 0)
  news.count(values.is_name(theirs.script_type) and theirs.script_type or own_type, 'created')
  if why then
    ends.fail(id, 0, 'prerequisite', why, jobs.read_for_end(id))
    return nil
  end
  return id
end

-- Notes a job for its queue, if it may run. 'later': this call has followed too many relations to tell.
local function consider(id)
  local key, job = keys.job(id), read(id)
  if not job then return end
  local status = (job.status and job.status ~= '') and job.status or 'dispatched'
  if status ~= 'dispatched' and status ~= 'started' then return end
  local shadow, only, was_left = layouts.shadow_of(id)
  if shadow then
    redis.call('HDEL', key, 'twin', 'twin_only')
    -- It is in our queue already.
    if status == 'dispatched' and not (only or was_left) and redis.call('ZSCORE', keys.watched, id) then return end
  end
  if status == 'dispatched' then
    local stop = stop_of(id)
    if stop then
      redis.call('ZREM', keys.watched, id)
      ends.fail(id, job.attempt or 0, 'stopped', 'stopped', job)
      commands.remove_all(stop, id)
      return
    end
    if not redis.call('ZSCORE', keys.watched, id) or redis.call('HEXISTS', key, 'unseen') == 1 then
      local admitted = foreign.admit(id, nil, admits)
      if not admitted then return admitted == nil and 'later' or nil end
    end
  end
  local script_type = values.is_name(job.script_type) and job.script_type or own_type
  local work_queue = keys.work(script_type, job.group, job.instance, job.priority)
  order[#order + 1] = { id = id, queue = work_queue, script_type = script_type, status = status }
end

local function import(queue, element)
  if not queue.kind.words and not values.is_uuid(element) then return foreign.refuse_id(element) end
  if #element > 128 or not string.find(element, queue.kind.element) then return end
  if queue.kind.words then
    local id = translate(queue, element)
    if id == 'later' then return id end
    return id and consider(id)
  end
  local key = keys.job(element)
  if redis.call('EXISTS', key) == 0 then return later(queue, element, key) end
  -- The end replies as the layout requires.
  if try('HSETNX', key, 'dialect', queue.layout) then return consider(element) end
end

local function error_of(answer) return type(answer) == 'table' and answer or redis.error_reply(tostring(answer)) end

-- Imports an element. An error ends no call, because what was imported before has to get into its queue: the element is
-- checked again later, and the error is the answer of the call.
local function import_or_wait(queue, element)
  local done, answer = pcall(import, queue, element)
  if done then return answer end
  failure = error_of(answer)
  later(queue, element)
end

-- Takes elements, one of each queue in turn, so that no queue waits for another to become empty. Returns the number of
-- checked elements.
local function take_elements(served, wanted)
  local looked, left, again = 0, MOST_LOOKED_AT, true
  while again do
    again = false
    for _, queue in ipairs(served) do
      local element = #order < wanted and looked < left and try_named('RPOP', queue.key)
      if element then
        looked, again = looked + 1, true
        if import_or_wait(queue, element) == 'later' then
          -- The next call begins with it. If it cannot go back, it is checked again later.
          if not try_named('RPUSH', queue.key, element) then later(queue, element) end
          left = looked
        end
      end
    end
  end
  return looked
end

return function()
  local look = request.take()
  own_type = request.take()
  local wanted, served = math.min(request.take_number(), MOST_TAKEN), {}
  stops, pending, order, admits, looks, failure = {}, nil, {}, {}, awaited.begin(), nil
  -- A pause of the queue of a type also covers the queues that lead to it.
  if queues.is_paused(keys.work(own_type)) or access.is_closed() or request.is_nearly_full(look) then return { 0 } end
  for at = 1, request.take_number() do
    local layout, key = request.take(), request.take()
    served[at] = { layout = layout, key = key, kind = layouts.named[layout] }
  end
  for at = 1, request.take_number() do stops[at] = request.take() end
  -- Whatever happens, what was imported before it gets into its queue.
  local done, looked = pcall(take_elements, served, wanted)
  if not done then failure = failure or error_of(looked) end

  -- They go to the taking end, where the last one is taken first.
  for at = #order, 1, -1 do
    local job = order[at]
    if not queues.push(job.queue, job.script_type, job.id, true) then
      redis.call('HSET', keys.job(job.id), 'status', 'scheduled')
      commands.insist('ZADD', keys.scheduled, request.now + routing.AGAIN, job.id)
    elseif job.status == 'dispatched' then
      queues.watch(job.id, job.script_type)
      news.count(job.script_type, 'dispatched')
    end
    request.has_work(job.script_type)
  end
  news.send_all()
  return failure or { looked, unpack(request.types) }
end
