-- Flags: allow-oom
-- Writes the progress of a running job, and reports it, with the values of its environment masked.
-- KEYS  job
-- ARGV  owner · context · claim · a number, usually percent · a text of at most 1 KB, which may be left out
-- Gives 'noted' · 'dropped' (memory is full) · 'lost' (the claim does not hold the job any more).
local LONGEST = 1024
local read = jobs.reader('status', 'attempt', 'lease', 'given_back', 'env_vars')

return function(names)
  local id, claim, said, text = calling.job_of(names[1]), request.take_number(), request.take() or '', request.take() or ''
  -- Lua reads hexadecimal numbers, too.
  local value = string.find(said, '^[%d.eE+-]+$') and tonumber(said)
  -- NaN is not equal to itself, and JSON has no infinite numbers.
  if not id or not claim or not value or value ~= value or math.abs(value) == math.huge or #text > LONGEST then
    return redis.error_reply('ERR the key is that of a job; then come its claim, a number, and a text of 1 KB at most')
  end
  local job = read(id)
  if not calling.holds(job, claim) then return 'lost' end
  if calling.is_full() then return 'dropped' end
  local progress = cjson.encode({ value = value, text = masks.apply(text, job.env_vars) })
  redis.call('HSET', keys.job(id), 'progress', progress)
  news.progress(id, job.attempt, progress)
  return 'noted'
end
