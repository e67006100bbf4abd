-- Flags:
-- Makes a job visible in the runner layout, too: as `job:{caller}:{n}`, to which each change of it is written from now
-- on. If that hash is gone, it is written again.
-- ARGV  id
-- Gives {'named', name} · {'missing'} · {'other', the layout that it has} · {'none'} (there is no number left) ·
-- {'later'} (the next call goes on looking for one).
local try, insist = commands.try, commands.insist
local COPIED = { 'script', 'script_type', 'timeout', 'retries', 'env_vars' }
local read = jobs.reader('status', 'caller_id', 'dialect', 'dialect_key', 'output', 'error', 'created_at', 'run_at_ms', unpack(COPIED))

-- The number of a caller, or 0 if it has none.
local function number_of(caller)
  local number = caller and string.match(caller, '^[1-9]%d*$')
  return number and #number <= 10 and tonumber(number) <= 4294967295 and number or '0'
end

-- The caller and the number that a job was given before. Nil: none; nil, true: a hash that must not be rewritten has
-- its name.
local function number_before(id, job)
  if job.dialect ~= 'runner' or not job.dialect_key then return nil, nil end
  local key = job.dialect_key
  local caller, number = string.match(key, '^job:(%d+):(%d+)$', #keys.prefix + 1)
  if not caller or key ~= keys.runner_job(caller, number) then return nil, true end
  if redis.call('EXISTS', key) == 0 then return caller, number end
  local numbered, job_id = unpack(try('HMGET', key, 'numbered', 'job_id') or {})
  -- Another job may have got the number, if the last given one was lost.
  if numbered == '1' and job_id ~= id then return nil, nil end
  return nil, true
end

return function()
  local id, closed = request.take(), access.refuse_closed()
  if closed then return closed end
  local job = jobs.is_job(id) and read(id)
  if not job then return { 'missing' } end
  if job.dialect and not (job.dialect == 'runner' and job.dialect_key) then return { 'other', job.dialect } end
  local caller, number = number_before(id, job)
  if not caller and number then return { 'named', string.sub(job.dialect_key, #keys.prefix + 1) } end
  if not caller then
    caller = number_of(job.caller_id)
    local why
    number, why = coordinator.next_number('job', function(digits) return keys.runner_job(caller, digits) end)
    if not number then return { why } end
  end
  local key, now, fields = keys.runner_job(caller, number), coordinator.seconds(), {}
  for _, field in ipairs(COPIED) do fields[#fields + 1], fields[#fields + 2] = field, job[field] or '' end
  insist('HSET', key, 'id', number, 'caller_id', caller, 'context_id', keys.context, 'result', '{}', 'prerequisites', '[]',
    'dependends', '[]', 'created_at', now, 'updated_at', now, 'status', 'dispatched', 'job_id', id, 'numbered', '1', unpack(fields))
  insist('HSET', keys.job(id), 'dialect', 'runner', 'dialect_key', key)
  local status = values.status_of(job.status)
  if values.is_final(status) then
    -- It is deleted together with the job.
    local seconds = redis.call('TTL', keys.job(id))
    layouts.mirror(id, 'runner', status, job.output or job.error or '', seconds > 0 and seconds or flows.KEPT_SECONDS, true)
  else
    layouts.mirror(id, 'runner', status)
  end
  return { 'named', string.sub(key, #keys.prefix + 1) }
end
