-- What calls with idempotency keys have created, as an answer to a call that is repeated, or nil. `key` is the digest of
-- caller and key, `digest` that of the parameters. Nothing is written here.
local try = commands.try
local keyed = {}

local read_job = jobs.reader('status', 'caller_id', 'idempotency_key')

-- The job of a key: {'same', id, status} · {'reused', id} (it was created with other parameters). Another job may have
-- that id by now: only the job that this caller made with this key counts.
function keyed.job(key, digest, caller_id, idempotency_key)
  local id, known = unpack(try('HMGET', keys.idempotency(key), 'job', 'digest') or {}, 1, 2)
  local job = id and read_job(id)
  if not job or not job.status or job.caller_id ~= caller_id or job.idempotency_key ~= idempotency_key then return nil end
  if known ~= digest then return { 'reused', id } end
  return { 'same', id, job.status }
end

-- The flow of a key: {'same', number, status} · {'making', number} (another call stores its jobs) · {'reused', number}.
-- A flow that is being deleted does not count, nor another one that has its number because Redis has lost this one.
function keyed.flow(key, digest)
  local number, known = unpack(try('HMGET', keys.idempotency(key), 'flow', 'digest') or {}, 1, 2)
  local flow = number and string.find(number, '^%d+$') and flows.read(number)
  if not flow or flow.busy == 'deleting' or try('HGET', keys.flow(number), 'keyed') ~= key then return nil end
  if known ~= digest then return { 'reused', number } end
  return { flow.busy == 'storing' and 'making' or 'same', number, flow.status }
end

-- The schedule of a key: {'same', id, next occurrence, ms} · {'reused', id}. A deleted schedule does not count, nor
-- another one that has its id by now.
function keyed.schedule(key, digest)
  local id, known = unpack(try('HMGET', keys.idempotency(key), 'schedule', 'digest') or {}, 1, 2)
  local occurrence = id and try('ZSCORE', keys.schedules, id)
  if not occurrence or try('HGET', keys.schedule(id), 'keyed') ~= key then return nil end
  if known ~= digest then return { 'reused', id } end
  return { 'same', id, occurrence }
end

return keyed
