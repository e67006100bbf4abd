-- Flows: jobs that belong together, as in the coordinator's specification. The hash of a flow has its state. `open`
-- counts its jobs that have not ended, `failed` those that ended in error. `busy` is the pending operation on all of
-- its jobs, which goes on in rounds: 'storing', 'starting', 'stopping', 'counting' (after a stop), 'retrying' or
-- 'deleting'; 'ending' when all have ended, and 'keeping' when a job of an ended flow goes on. `at` is the number of
-- jobs that are done. `failing` means that the others have been stopped, or are to be.
local try, insist = commands.try, commands.insist
local flows = {}

-- The maximum number of jobs of a flow; the time for which the jobs of an open flow are kept after their ends, s; and
-- the time for which a flow is kept that nobody has started (an hour longer than its jobs wait, which end it), and by
-- default after its end, s.
flows.MOST_JOBS, flows.OPEN_SECONDS, flows.CREATED_SECONDS, flows.KEPT_SECONDS = 1000, 2592000, 608400, 604800
-- The number of jobs in a round, and in a call in which other things end flows or make them go on.
local A_ROUND, AT_ONCE = 64, 192
-- The maximum size of one output and of all together in the result of a flow, and the size after which a round ends,
-- bytes.
local MAX_OUTPUT_BYTES, LONGEST_TOGETHER, LONGEST_ROUND = 65536, 1048576, 262144
-- The extra time for which the first jobs of a flow are kept, s, where its end takes more than a round.
local SPARE = 60
-- The minimum time between two ends of a flow that takes more than a round, ms: somebody may run a job of it again and
-- again.
local BETWEEN_ENDS = 1000
-- The time after which others continue a flow whose operation nobody continues, ms.
flows.GONE = 5000
-- Fields that exist until all rounds are done; and fields in which each round of an end leaves its result: there are
-- never more rounds than these.
local OF_ROUNDS = {
  'gathered_bytes', 'gathered_any', 'gathered_parts', 'left_out', 'counted_to', 'counted_open', 'counted_failed', 'goes',
}
local PARTS = {}
for at = 1, 32 do PARTS[at] = 'gathered_' .. at end
local join = values.joining(#PARTS + 3)

-- Returns the keys of some jobs of a flow, in the order of their prerequisites, after the first `at`; and the number of
-- all its jobs.
function flows.jobs_of(flow, at, many)
  local read, numbers = pcall(cjson.decode, flow.jobs or '[]')
  if not read or type(numbers) ~= 'table' then return {}, 0 end
  local found, place = {}, 0
  for _, number in ipairs(numbers) do
    if place == flows.MOST_JOBS then break end
    if type(number) == 'number' and number >= 0 and number < 4294967296 and number % 1 == 0 then
      place = place + 1
      if place > at and place <= at + many then found[#found + 1] = keys.runner_job(flow.caller_id, values.digits(number)) end
    end
  end
  return found, place
end

-- Fields that are read of every flow.
local FIELDS = {
  'status', 'caller_id', 'jobs', 'busy', 'at', 'open', 'failed', 'begun_at', 'policy', 'retention', 'started_at', 'awaits', 'ends_after',
}
local named = values.naming(FIELDS)

-- Reads a flow. Nil: there is none.
function flows.read(number)
  local list = try('HMGET', keys.flow(number), unpack(FIELDS))
  local flow = list and named(list)
  if not flow or not flow.status or not flow.caller_id or not string.find(flow.caller_id, '^%d+$') then return nil end
  return flow
end

-- Makes the servers look at a flow after a time, ms.
function flows.look_at(number, ms)
  insist('ZADD', keys.flows_to_do, request.digits_in(ms), number)
  news.due('flows', request.now + ms)
end

-- True if a flow has ended.
function flows.is_over(status) return status == 'finished' or status == 'error' end

-- True if a job is one of a flow. Another job may have the id of a deleted one.
function flows.has(number, id) return id and values.is_uuid(id) and try('HGET', keys.job(id), 'flow') == number end

-- Forgets the fields of rounds.
function flows.forget_rounds(number)
  try('HDEL', keys.flow(number), unpack(OF_ROUNDS))
  try('HDEL', keys.flow(number), unpack(PARTS))
end

-- Begins an operation on all jobs of a flow, which the servers continue.
function flows.begin(number, what, ms)
  flows.forget_rounds(number)
  insist('HSET', keys.flow(number), 'busy', what, 'at', '0')
  flows.look_at(number, ms)
end

-- True if this call may still handle this number of jobs of flows.
local function has_room(many)
  if request.of_flows + many > AT_ONCE then return false end
  request.of_flows = request.of_flows + many
  return true
end

-- Keeps a job of a flow that goes on, and its hash in the runner layout, until the flow has ended.
function flows.keep(number, of_job, id)
  redis.call('PERSIST', of_job)
  if not flows.has(number, id) then return end
  insist('HSET', keys.job(id), 'retention', flows.OPEN_SECONDS)
  redis.call('EXPIRE', keys.job(id), flows.OPEN_SECONDS, 'GT')
end

-- Opens a flow again that had ended or was not started, because one of its jobs goes on.
local function open_again(number)
  local key, flow = keys.flow(number), flows.read(number)
  if not flow then return end
  redis.call('HDEL', key, 'finished_at', 'left_out', 'stopped', 'failing')
  redis.call('PERSIST', key)
  -- Any other pending operation on all of its jobs keeps them, or deletes them.
  if flow.busy and flow.busy ~= '' and flow.busy ~= 'ending' and flow.busy ~= 'keeping' then return end
  local of_jobs, many = flows.jobs_of(flow, 0, A_ROUND)
  if many > #of_jobs or not has_room(many) then return flows.begin(number, 'keeping', 0) end
  for _, of_job in ipairs(of_jobs) do flows.keep(number, of_job, try('HGET', of_job, 'job_id')) end
  if flow.busy == 'ending' then
    flows.forget_rounds(number)
    insist('HSET', key, 'busy', '', 'at', '0')
    try('ZREM', keys.flows_to_do, number)
  end
end

-- Gathers the outputs of some jobs of a flow, by their names, as the inside of a JSON object, which continues what was
-- gathered before. Each job is kept for `seconds` from now on. Returns the number of jobs that it has handled, and the
-- text.
local function gather(number, of_jobs, gathered, retention, seconds)
  local parts, before = { gathered.any and '' or nil }, gathered.bytes
  for at, key in ipairs(of_jobs) do
    local name, id = unpack(try('HMGET', key, 'name', 'job_id') or {}, 1, 2)
    if flows.has(number, id) then
      local job = keys.job(id)
      if name and jobs.status(id) == 'finished' then
        local size = try('HSTRLEN', job, 'output') or 0
        if size <= MAX_OUTPUT_BYTES and gathered.bytes + size <= LONGEST_TOGETHER then
          gathered.any, parts[#parts + 1] = '1', cjson.encode(name) .. ':' .. cjson.encode(try('HGET', job, 'output') or '')
          gathered.bytes = gathered.bytes + size
        else
          gathered.left_out = '1'
        end
      end
      insist('HSET', job, 'retention', retention)
      redis.call('EXPIRE', job, seconds)
    end
    redis.call('EXPIRE', key, seconds)
    if gathered.bytes - before > LONGEST_ROUND then return at, table.concat(parts, ',') end
  end
  return #of_jobs, table.concat(parts, ',')
end

-- The results of several rounds as a JSON object, with that of the last one.
local function object_of(key, rounds, last)
  if rounds == 0 then return '{' .. last .. '}' end
  local texts = { '{' }
  for at, part in ipairs(try('HMGET', key, unpack(PARTS)) or {}) do texts[at + 1] = at <= rounds and part or '' end
  for at = #texts + 1, #PARTS + 1 do texts[at] = '' end
  texts[#PARTS + 2], texts[#PARTS + 3] = last, '}'
  return join(texts)
end

-- Does a round of the end of a flow whose jobs have all ended. True: the end is complete.
function flows.end_some(number, flow)
  local key, at = keys.flow(number), tonumber(flow.at) or 0
  local of_jobs, many = flows.jobs_of(flow, at, A_ROUND)
  local kept = values.seconds_kept(flow.retention) or flows.KEPT_SECONDS
  local retention = values.digits(kept)
  local bytes, any, rounds, left_out
  if at > 0 then
    bytes, any, rounds, left_out = unpack(try('HMGET', key, 'gathered_bytes', 'gathered_any', 'gathered_parts', 'left_out') or {}, 1, 4)
  end
  rounds = math.min(tonumber(rounds or nil) or 0, #PARTS - 1)
  local gathered = { bytes = tonumber(bytes or nil) or 0, any = any == '1' and any or nil, left_out = left_out or '' }
  local is_only = at == 0 and #of_jobs >= many
  local done, text = gather(number, of_jobs, gathered, retention, is_only and retention or values.digits(kept + SPARE))
  at = at + done
  if at < many then
    insist('HSET', key, 'busy', 'ending', 'at', values.digits(at), PARTS[rounds + 1], text, 'gathered_parts', rounds + 1,
      'gathered_bytes', values.digits(gathered.bytes), 'gathered_any', gathered.any or '', 'left_out', gathered.left_out)
    flows.look_at(number, flows.GONE)
    return false
  end
  local status = (tonumber(flow.failed) or 0) > 0 and 'error' or 'finished'
  local result = object_of(key, rounds, text)
  if rounds > 0 then flows.forget_rounds(number) end
  insist('HSET', key, 'status', status, 'result', result, 'left_out', gathered.left_out, 'busy', '', 'at', '0',
    'finished_at', request.now_text, 'updated_at', coordinator.seconds())
  if many > A_ROUND then insist('HSET', key, 'ends_after', request.digits_in(BETWEEN_ENDS)) end
  redis.call('EXPIRE', key, retention)
  try('ZREM', keys.flows_to_do, number)
  return true
end

-- The time that the end of a flow has to wait, ms.
function flows.pause_of(flow)
  local pause = (tonumber(flow.ends_after or nil) or 0) - request.now
  -- A time that a backward step of the clock left far ahead delays nobody.
  return pause <= BETWEEN_ENDS and math.max(pause, 0) or 0
end

-- Ends a flow whose jobs have all ended, unless an operation on them is pending: at once, or from now on in rounds if
-- it has many.
function flows.settle(number, flow)
  local gives_way = not flow.busy or flow.busy == '' or flow.busy == 'stopping' or flow.busy == 'counting'
  if (tonumber(flow.open) or 0) > 0 or not gives_way then return end
  local pause, _, many = flows.pause_of(flow), flows.jobs_of(flow, 0, 0)
  if pause > 0 or not has_room(math.min(many, A_ROUND)) then return flows.begin(number, 'ending', pause) end
  if flow.busy == 'counting' then flows.forget_rounds(number) end
  flow.at = '0'
  if not flows.end_some(number, flow) then flows.look_at(number, 0) end
end

-- Stops the other jobs at the first failure, if the policy says so.
local function stop_others(number, key)
  local policy, busy = unpack(try('HMGET', key, 'policy', 'busy') or {}, 1, 2)
  local goes = busy == 'deleting' or busy == 'storing'
  if policy == 'continue' or goes or try('HSETNX', key, 'failing', '1') ~= 1 then return end
  flows.begin(number, 'stopping', 0)
end

-- Notes that the status of a job of a flow has changed, in the words of its layout. `job` is its number there.
function flows.note(number, was, is, job)
  if was == is or not string.find(number, '^%d+$') then return end
  local key = keys.flow(number)
  if redis.call('EXISTS', key) == 0 then return end
  local status, begun_at, busy, counted_to = unpack(try('HMGET', key, 'status', 'begun_at', 'busy', 'counted_to') or {}, 1, 4)
  -- While jobs are being counted anew: this one has been counted already.
  local is_counted = busy == 'counting' and job <= (tonumber(counted_to or nil) or -1)
  local function add(field, by)
    if is_counted then commands.increase(key, 'counted_' .. field, by) end
    return commands.increase(key, field, by)
  end
  if is == 'started' and try('HSETNX', key, 'started_at', request.now_text) == 1 then
    if not begun_at then open_again(number) end
    insist('HSET', key, 'status', 'started', 'updated_at', coordinator.seconds())
  end
  local had_ended, has_ended = flows.is_over(was), flows.is_over(is)
  if was == 'error' and is ~= 'error' then add('failed', -1) end
  if is == 'error' and was ~= 'error' then
    add('failed', 1)
    stop_others(number, key)
  end
  if had_ended and not has_ended then
    add('open', 1)
    -- The job goes on.
    if flows.is_over(status) or busy == 'ending' then open_again(number) end
    insist('HSET', key, 'status', 'started', 'updated_at', coordinator.seconds())
  elseif has_ended and not had_ended and add('open', -1) <= 0 then
    local flow = flows.read(number)
    if flow then flows.settle(number, flow) end
  end
end

return flows
