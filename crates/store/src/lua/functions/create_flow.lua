-- Flags:
-- Creates a flow. Later calls store its jobs, first their hashes in the runner layout (store_flow_jobs.lua). It is
-- being created until 'stored' is reported (advance_flow.lua), and is deleted if nobody does so in time.
-- If jobs per second are limited, all of its jobs are counted here, and the later calls count none.
-- ARGV  caller · list: '1' if it waits for jobs that are not its own or '-' · maximum number of jobs created per second, or 0
--         · 'look' (memory may be short) or '-'
--       · policy ('stop' or 'continue') · retention, s
--       · name or '' · environment, JSON · prerequisites, JSON · caller as a text
--       · digest of caller and idempotency key or '' · digest of the specification of the flow · number of jobs
-- Gives {number of the flow, number of each job …} · {'full'} · {'none'} (there is no number left) · {'later'} (the
-- next call goes on looking for numbers) · {'slow', ms} (time until there is room); or for the flow of the idempotency
-- key: {'same', number, status} · {'making', number} (another call stores its jobs) · {'reused', number} (its
-- specification was another one).
local try, insist, increase = commands.try, commands.insist, commands.increase

-- The maximum number of flows; the maximum time for the creation of one, ms.
local MOST_FLOWS, MAKING = 100000, 60000

return function()
  local caller, awaits, per_second, look = request.take(), unpack(request.take_list(), 1, 3)
  local policy, retention = request.take_many(2)
  local name, env_vars, prerequisites, caller_text = request.take_many(4)
  local key_digest, digest = request.take_many(2)
  local many = request.take_number()
  per_second = tonumber(per_second)
  local closed = access.refuse_closed()
  if closed then return closed end
  local found = key_digest ~= '' and keyed.flow(key_digest, digest)
  if found then return found end
  local refused = request.refuse_nearly_full(look)
  if refused then return refused end
  local slow = limit.too_fast(per_second, many)
  if slow then return slow end
  -- Flows that are gone have left their numbers free.
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
  if key_digest ~= '' then
    local of_key = keys.idempotency(key_digest)
    redis.call('HSET', key, 'keyed', key_digest)
    insist('HSET', of_key, 'flow', number, 'digest', digest)
    redis.call('EXPIRE', of_key, jobs.IDEMPOTENCY_SECONDS)
  end
  redis.call('EXPIRE', key, flows.CREATED_SECONDS)
  insist('ZADD', keys.flows, number, number)
  flows.look_at(number, MAKING)
  return { number, unpack(numbers) }
end
