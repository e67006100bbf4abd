-- Flags:
-- Makes a flow, with the hashes of its jobs in the runner layout. The jobs themselves are stored by calls after this one; until
-- 'stored' is said (advance_flow.lua) it is being made, and goes when nobody says so in time.
-- Its jobs are counted here, all together, where so many may be created in a second: those calls count none.
-- ARGV  caller · list: '1' if it waits for jobs that are none of its own or '-' · the most jobs that may be created in a second, or 0
--       · policy ('stop' or 'continue') · retention, s
--       · name or '' · environment, JSON · prerequisites, JSON · caller as a text
--       · digest of caller and idempotency key or '' · digest of what the flow is to be
--       · number of jobs, each: id · name · how many jobs of the flow it waits for, each: its place
--         · number of fields and values · field · value …
-- Gives {number of the flow, number of each job …} · {'full'} · {'none'} (there is no number left) · {'later'} (the next call goes on
-- looking for numbers) · {'slow', ms} (so long from now there is room); or of the flow that the idempotency key stands for:
-- {'same', number, status} · {'making', number} (another call stores its jobs) · {'reused', number} (it was to be something else).
local try, insist, increase = commands.try, commands.insist, commands.increase

-- The most flows; how long the making of one may take, ms.
local MOST_FLOWS, MAKING = 100000, 60000

local function take_jobs()
  local all = {}
  for at = 1, request.take_number() do
    local id, name, waits_for = request.take(), request.take(), {}
    for _ = 1, request.take_number() do waits_for[#waits_for + 1] = request.take_number() end
    local fields = request.take_number()
    local first = request.at + 1
    request.at = request.at + fields
    all[at] = { id = id, name = name, waits_for = waits_for, first = first, last = request.at, dependents = {} }
  end
  return all
end

-- A list of texts that need no escapes, as JSON.
local function json_of(list, quote) return '[' .. quote .. table.concat(list, quote .. ',' .. quote) .. quote .. ']' end

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
  local all = take_jobs()
  per_second = tonumber(per_second)
  local found = keyed ~= '' and find_known(keyed, digest)
  if found then return found end
  local slow = limit.too_fast(per_second, #all)
  if slow then return slow end
  -- Those that are gone have left their numbers.
  local listed = try('ZCARD', keys.flows) or 0
  if listed >= MOST_FLOWS then return { 'full' } end
  local number, why = coordinator.next_number('flow', keys.flow)
  local now, numbers = coordinator.seconds(), {}
  for at, job in ipairs(all) do
    if number then job.number, why = coordinator.next_number('job', function(digits) return keys.runner_job(caller, digits) end) end
    if not job.number then return { why } end
    numbers[at] = job.number
  end
  limit.note_created(per_second, #all)
  for _, job in ipairs(all) do
    for _, place in ipairs(job.waits_for) do
      local other = all[place]
      other.dependents[#other.dependents + 1] = job.number
    end
  end
  for _, job in ipairs(all) do
    local quoted = {}
    for at, place in ipairs(job.waits_for) do quoted[at] = 'job:' .. caller .. ':' .. all[place].number end
    local key = keys.runner_job(caller, job.number)
    insist('HSET', key, 'id', job.number, 'caller_id', caller, 'context_id', keys.context, 'result', '{}',
      'prerequisites', #quoted > 0 and json_of(quoted, '"') or '[]',
      'dependends', #job.dependents > 0 and json_of(job.dependents, '') or '[]', 'created_at', now, 'updated_at', now,
      'status', 'dispatched', 'name', job.name, 'flow', number, 'job_id', job.id, unpack(request.argv, job.first, job.last))
    redis.call('EXPIRE', key, flows.CREATED_SECONDS)
  end
  local key = keys.flow(number)
  insist('HSET', key, 'id', number, 'caller_id', caller, 'context_id', keys.context, 'jobs', json_of(numbers, ''),
    'env_vars', env_vars, 'result', '{}', 'created_at', now, 'updated_at', now, 'status', 'dispatched', 'name', name, 'policy', policy,
    'retention', retention, 'prerequisites', prerequisites, 'awaits', awaits == '1' and '1' or '', 'caller', caller_text,
    'busy', 'storing', 'at', '0', 'failed', '0', 'total', #all)
  increase(key, 'open', #all)
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
