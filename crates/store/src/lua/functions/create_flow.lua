-- Flags:
-- Makes a flow. Its jobs are stored by calls after this one, first their hashes in the runner layout (store_flow_jobs.lua); until 'stored'
-- is said (advance_flow.lua) it is being made, and goes when nobody says so in time.
-- Its jobs are counted here, all together, where so many may be created in a second: those calls count none.
-- ARGV  caller · list: '1' if it waits for jobs that are none of its own or '-' · the most jobs that may be created in a second, or 0
--       · policy ('stop' or 'continue') · retention, s
--       · name or '' · environment, JSON · prerequisites, JSON · caller as a text
--       · digest of caller and idempotency key or '' · digest of what the flow is to be · number of jobs
-- Gives {number of the flow, number of each job …} · {'full'} · {'none'} (there is no number left) · {'later'} (the next call goes on
-- looking for numbers) · {'slow', ms} (so long from now there is room); or of the flow that the idempotency key stands for:
-- {'same', number, status} · {'making', number} (another call stores its jobs) · {'reused', number} (it was to be something else).
local try, insist, increase = commands.try, commands.insist, commands.increase

-- The most flows; how long the making of one may take, ms.
local MOST_FLOWS, MAKING = 100000, 60000

-- The flow that an idempotency key stands for, as an answer, or nil. One that is being deleted stands for nothing any more.
local function find_known(keyed, digest)
  local number, known = unpack(try('HMGET', keys.idempotency(keyed), 'flow', 'digest') or {}, 1, 2)
  local flow = number and string.find(number, '^%d+$') and flows.read(number)
  -- Another flow may have that number, where Redis has lost this one.
  if not flow or flow.busy == 'deleting' or try('HGET', keys.flow(number), 'keyed') ~= keyed then return nil end
  if known ~= digest then return { 'reused', number } end
  return { flow.busy == 'storing' and 'making' or 'same', number, flow.status }
end

return function()
  local caller, awaits, per_second = request.take(), unpack(request.take_list(), 1, 2)
  local policy, retention = request.take_many(2)
  local name, env_vars, prerequisites, caller_text = request.take_many(4)
  local keyed, digest = request.take_many(2)
  local many = request.take_number()
  per_second = tonumber(per_second)
  local found = keyed ~= '' and find_known(keyed, digest)
  if found then return found end
  local slow = limit.too_fast(per_second, many)
  if slow then return slow end
  -- Those that are gone have left their numbers.
  local listed = try('ZCARD', keys.flows) or 0
  if listed >= MOST_FLOWS then return { 'full' } end
  local number, why = coordinator.next_number('flow', keys.flow)
  local now, numbers = coordinator.seconds(), nil
  if number then
    numbers, why = coordinator.next_numbers('job', function(digits) return keys.runner_job(caller, digits) end, many)
  end
  if not numbers then return { why } end
  limit.note_created(per_second, many)
  local key = keys.flow(number)
  insist('HSET', key, 'id', number, 'caller_id', caller, 'context_id', keys.context, 'jobs', '[' .. table.concat(numbers, ',') .. ']',
    'env_vars', env_vars, 'result', '{}', 'created_at', now, 'updated_at', now, 'status', 'dispatched', 'name', name, 'policy', policy,
    'retention', retention, 'prerequisites', prerequisites, 'awaits', awaits == '1' and '1' or '', 'caller', caller_text,
    'busy', 'storing', 'at', '0', 'failed', '0', 'total', many)
  increase(key, 'open', many)
  if keyed ~= '' then
    local of_key = keys.idempotency(keyed)
    redis.call('HSET', key, 'keyed', keyed)
    insist('HSET', of_key, 'flow', number, 'digest', digest)
    redis.call('EXPIRE', of_key, jobs.IDEMPOTENCY_SECONDS)
  end
  redis.call('EXPIRE', key, flows.CREATED_SECONDS)
  insist('ZADD', keys.flows, number, number)
  flows.look_at(number, MAKING)
  return { number, unpack(numbers) }
end
