-- Flags:
-- Has a job be seen in the runner layout, too: as `job:{caller}:{n}`, where each change of it is written from now on.
-- ARGV  id
-- Gives {'named', the name} · {'missing'} · {'other', the layout that it has} · {'none'} (there is no number left) · {'later'} (the next
-- call goes on looking for one).
local insist = commands.insist
local COPIED = { 'script', 'script_type', 'timeout', 'retries', 'env_vars' }
local read = jobs.reader('status', 'caller_id', 'dialect', 'dialect_key', 'output', 'error', 'created_at', 'run_at_ms', unpack(COPIED))

-- The number of a caller, which is 0 where it has none.
local function number_of(caller)
  local number = caller and string.match(caller, '^[1-9]%d*$')
  return number and #number <= 10 and tonumber(number) <= 4294967295 and number or '0'
end

return function()
  local id = request.take()
  local job = jobs.is_job(id) and read(id)
  if not job then return { 'missing' } end
  if job.dialect == 'runner' and job.dialect_key then return { 'named', string.sub(job.dialect_key, #keys.prefix + 1) } end
  if job.dialect then return { 'other', job.dialect } end
  local caller = number_of(job.caller_id)
  local function key_of(number) return keys.runner_job(caller, number) end
  local number, why = coordinator.next_number('job', key_of)
  if not number then return { why } end
  local key, now, fields = key_of(number), coordinator.seconds(), {}
  for _, field in ipairs(COPIED) do fields[#fields + 1], fields[#fields + 2] = field, job[field] or '' end
  insist('HSET', key, 'id', number, 'caller_id', caller, 'context_id', keys.context, 'result', '{}', 'prerequisites', '[]',
    'dependends', '[]', 'created_at', now, 'updated_at', now, 'status', 'dispatched', 'job_id', id, 'numbered', '1', unpack(fields))
  insist('HSET', keys.job(id), 'dialect', 'runner', 'dialect_key', key)
  local status = job.status or 'dispatched'
  if values.is_final(status) then
    -- It goes when the job goes.
    local seconds = redis.call('TTL', keys.job(id))
    layouts.mirror(id, 'runner', status, job.output or job.error or '', seconds > 0 and seconds or flows.KEPT_SECONDS, true)
  else
    local later = math.max(values.number(job.run_at_ms or nil, 0) - request.now, 0)
    redis.call('EXPIRE', key, values.digits(flows.OPEN_SECONDS + math.ceil(later / 1000)))
    layouts.mirror(id, 'runner', status)
  end
  return { 'named', string.sub(key, #keys.prefix + 1) }
end
