-- Flows: jobs that belong together, as the coordinator's specification has them. The hash of a flow says where it is; `open` counts its
-- jobs that have not ended, `failed` those that ended in error. `busy` is what is being done with all of its jobs, round by round:
-- 'storing', 'starting', 'stopping', 'retrying' or 'deleting'; `at` is how many of them that was done with. `failing` says that the others
-- have been stopped, or are to be.
local try, insist = commands.try, commands.insist
local flows = {}

-- The most jobs of a flow; how long the jobs of one that has not ended are kept after their ends, s; how long a flow is kept that nobody
-- has started, s (an hour longer than its jobs wait, which end it), and by default after its end.
flows.MOST_JOBS, flows.OPEN_SECONDS, flows.CREATED_SECONDS, flows.KEPT_SECONDS = 1000, 2592000, 608400, '604800'
-- The longest output, and the longest of all together, that the result of a flow has, bytes.
local LONGEST, LONGEST_TOGETHER = 65536, 1048576

-- The keys of the jobs of a flow, in the order of their prerequisites.
function flows.jobs_of(caller, list)
  local read, numbers = pcall(cjson.decode, list or '[]')
  if not read or type(numbers) ~= 'table' then return {} end
  local found = {}
  for _, number in ipairs(numbers) do
    local is_number = type(number) == 'number' and number >= 0 and number < 4294967296 and number % 1 == 0
    if is_number and #found < flows.MOST_JOBS then found[#found + 1] = keys.runner_job(caller, values.digits(number)) end
  end
  return found
end

-- What every flow is read for.
local FIELDS = { 'status', 'caller_id', 'jobs', 'busy', 'at', 'open', 'failed', 'begun_at', 'policy', 'retention', 'started_at', 'awaits' }
local named = values.naming(FIELDS)

-- Reads a flow. Nil: there is none.
function flows.read(number)
  local list = try('HMGET', keys.flow(number), unpack(FIELDS))
  local flow = list and named(list)
  if not flow or not flow.status or not flow.caller_id or not string.find(flow.caller_id, '^%d+$') then return nil end
  return flow
end

-- Has the servers look at a flow in so many ms.
function flows.look_at(number, ms) insist('ZADD', keys.flows_to_do, request.digits_in(ms), number) end

-- Whether a flow has come to an end.
function flows.is_over(status) return status == 'finished' or status == 'error' end

-- Whether a job is that of a flow. Another one may have the id of one that was deleted.
function flows.has(number, id) return id and values.is_uuid(id) and try('HGET', keys.job(id), 'flow') == number end

-- Keeps a job of a flow that goes on, with its hash in the runner layout, until the flow has ended.
function flows.keep(number, of_job, id)
  redis.call('PERSIST', of_job)
  if not flows.has(number, id) then return end
  insist('HSET', keys.job(id), 'retention', flows.OPEN_SECONDS)
  redis.call('EXPIRE', keys.job(id), flows.OPEN_SECONDS, 'GT')
end

-- A flow goes on that had ended, or that nobody has started, because one of its jobs does.
local function open_again(number, key)
  local flow = named(try('HMGET', key, unpack(FIELDS)) or {})
  redis.call('HDEL', key, 'finished_at', 'left_out', 'stopped', 'failing')
  redis.call('PERSIST', key)
  for _, of_job in ipairs(flows.jobs_of(flow.caller_id or '0', flow.jobs)) do flows.keep(number, of_job, try('HGET', of_job, 'job_id')) end
end

-- What the jobs of a flow gave, by their names, as JSON; and whether something was left out because it is long. Each job is kept as long as
-- its flow.
local function gather(number, flow, retention)
  local result, bytes, left_out = {}, 0, false
  for _, key in ipairs(flows.jobs_of(flow.caller_id, flow.jobs)) do
    local name, id = unpack(try('HMGET', key, 'name', 'job_id') or {}, 1, 2)
    if flows.has(number, id) then
      local job = keys.job(id)
      if name and jobs.status(id) == 'finished' then
        local size = try('HSTRLEN', job, 'output') or 0
        if size <= LONGEST and bytes + size <= LONGEST_TOGETHER then
          result[name], bytes = try('HGET', job, 'output') or '', bytes + size
        else
          left_out = true
        end
      end
      insist('HSET', job, 'retention', retention)
      redis.call('EXPIRE', job, retention)
    end
    redis.call('EXPIRE', key, retention)
  end
  return next(result) and cjson.encode(result) or '{}', left_out
end

-- Ends a flow whose jobs have all ended, unless something is still being done with them.
function flows.settle(number, flow)
  if (tonumber(flow.open) or 0) > 0 or flow.busy and flow.busy ~= '' and flow.busy ~= 'stopping' then return end
  local key = keys.flow(number)
  local retention = tonumber(flow.retention) and flow.retention or flows.KEPT_SECONDS
  local result, left_out = gather(number, flow, retention)
  local status = (tonumber(flow.failed) or 0) > 0 and 'error' or 'finished'
  insist('HSET', key, 'status', status, 'result', result, 'left_out', left_out and '1' or '', 'busy', '', 'at', '0',
    'finished_at', request.now_text, 'updated_at', coordinator.seconds())
  redis.call('EXPIRE', key, retention)
  try('ZREM', keys.flows_to_do, number)
end

-- The first job that fails stops the others, where that is what is wanted.
local function stop_others(number, key)
  local policy, busy = unpack(try('HMGET', key, 'policy', 'busy') or {}, 1, 2)
  local goes = busy == 'deleting' or busy == 'storing'
  if policy == 'continue' or goes or try('HSETNX', key, 'failing', '1') ~= 1 then return end
  insist('HSET', key, 'busy', 'stopping', 'at', '0')
  flows.look_at(number, 0)
end

-- Notes that a job of a flow was something in the words of its layout, and is something else now.
function flows.note(number, was, is)
  if was == is or not string.find(number, '^%d+$') then return end
  local key = keys.flow(number)
  if redis.call('EXISTS', key) == 0 then return end
  local status, begun_at = unpack(try('HMGET', key, 'status', 'begun_at') or {}, 1, 2)
  if is == 'started' and try('HSETNX', key, 'started_at', request.now_text) == 1 then
    if not begun_at then open_again(number, key) end
    insist('HSET', key, 'status', 'started', 'updated_at', coordinator.seconds())
  end
  local had_ended, has_ended = flows.is_over(was), flows.is_over(is)
  if was == 'error' and is ~= 'error' then commands.increase(key, 'failed', -1) end
  if is == 'error' and was ~= 'error' then
    commands.increase(key, 'failed', 1)
    stop_others(number, key)
  end
  if had_ended and not has_ended then
    commands.increase(key, 'open', 1)
    -- It goes on.
    if flows.is_over(status) then open_again(number, key) end
    insist('HSET', key, 'status', 'started', 'updated_at', coordinator.seconds())
  elseif has_ended and not had_ended and commands.increase(key, 'open', -1) <= 0 then
    local flow = flows.read(number)
    if flow then flows.settle(number, flow) end
  end
end

return flows
