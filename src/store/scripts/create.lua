-- Creates jobs, and starts those that are to be started: into their queue, or with an actor of this server that has room.
-- ARGV  9 queue length limit   10 index key   11 when a job that is not started is given up, ms   12 lease expiry, ms
--       13 number of pools with room, each: script type · number of its queues · queue …   then number of jobs, each:
--       id · 'new' (nobody else can have it) or '' · 'start' or '' · actor that has room, or '' · due time, ms, or '' · script type · work queue · digest of caller and idempotency key, or ''
--       · digest of the parameters · number of fields and values · field · value …
-- Gives for each job {'created', status} · {'exists', status} (id taken) · {'same', id, status} (idempotency key seen)
-- · {'reused', id} (idempotency key seen with other parameters) · {'full', length}.
local limit, index, given_up, lease_until, at = tonumber(ARGV[9]), ARGV[10], ARGV[11], ARGV[12], 13
local answers, created = {}, {}

-- Whether nobody waits for the actors of a type who would be overtaken.
local nobody_waits = {}
for _ = 1, tonumber(ARGV[13]) do
  local script_type, queues = ARGV[at + 1], tonumber(ARGV[at + 2])
  nobody_waits[script_type] = nobody_waits[script_type] ~= false and redis.call('EXISTS', unpack(ARGV, at + 3, at + 2 + queues)) == 0
  at = at + 2 + queues
end
local jobs = tonumber(ARGV[at + 1])
at = at + 1

-- Jobs of one queue go into it together, at the end.
local lengths, pushed = {}, {}

local function length_of(queue)
  if not lengths[queue] then lengths[queue] = try('LLEN', queue) or limit end -- A key that is no list takes nothing.
  return lengths[queue]
end

local function create(id, new, start, actor, due, script_type, queue, idempotency, digest, first, last)
  if idempotency ~= '' then
    local known = redis.call('HMGET', idempotency_key(idempotency), 'job', 'digest')
    local status = known[1] and try('HGET', job_prefix .. known[1], 'status')
    if status then
      if known[2] ~= digest then return { 'reused', known[1] } end
      return { 'same', known[1], status }
    end
  end
  local key = job_prefix .. id
  if new == '' and redis.call('EXISTS', key) == 1 then return { 'exists', try('HGET', key, 'status') or '' } end
  local status, attempt = 'created', 0
  if start ~= 'start' then
    redis.call('HSET', key, 'id', id, 'status', status, 'created_at', now_text, 'updated_at', now_text, unpack(ARGV, first, last))
    redis.call('ZADD', scheduled_key, given_up, id)
  elseif due ~= '' and tonumber(due) > now then
    status = 'scheduled'
    redis.call('HSET', key, 'id', id, 'status', status, 'created_at', now_text, 'updated_at', now_text, unpack(ARGV, first, last))
    redis.call('ZADD', scheduled_key, due, id)
  elseif actor ~= '' and nobody_waits[script_type] then
    status, attempt = 'started', 1
    -- The lease first: a started job without one would be found by nobody.
    redis.call('ZADD', leases_key, lease_until, id)
    redis.call('HSET', key, 'id', id, 'status', status, 'created_at', now_text, 'updated_at', now_text, 'started_at', now_text, 'attempt', attempt,
      'lease', server, 'actor', actor, unpack(ARGV, first, last))
    event(id, 'dispatched', 0)
    count(script_type, 'dispatched')
    count(script_type, 'started')
  else
    status = 'dispatched'
    nobody_waits[script_type] = false
    local length = length_of(queue)
    if length >= limit then return { 'full', length } end
    lengths[queue] = length + 1
    redis.call('HSET', key, 'id', id, 'status', status, 'created_at', now_text, 'updated_at', now_text, unpack(ARGV, first, last))
    local ids = pushed[queue]
    if not ids then
      ids = { script_type = script_type }
      pushed[queue] = ids
    end
    ids[#ids + 1] = id
    count(script_type, 'dispatched')
  end
  if idempotency ~= '' then
    redis.call('HSET', idempotency_key(idempotency), 'job', id, 'digest', digest)
    redis.call('EXPIRE', idempotency_key(idempotency), IDEMPOTENCY_SECONDS)
  end
  count(script_type, 'created')
  event(id, status, attempt)
  created[#created + 1] = id
  return { 'created', status }
end

for job = 1, jobs do
  local fields = tonumber(ARGV[at + 10])
  answers[job] = create(ARGV[at + 1], ARGV[at + 2], ARGV[at + 3], ARGV[at + 4], ARGV[at + 5], ARGV[at + 6], ARGV[at + 7], ARGV[at + 8], ARGV[at + 9],
    at + 11, at + 10 + fields)
  at = at + 10 + fields
end
for queue, ids in pairs(pushed) do
  if try('LPUSH', queue, unpack(ids)) == #ids then woken(queue, ids.script_type) end
end
if #created > 0 then try('RPUSH', index, unpack(created)) end
flush()
return answers
