-- Flags: allow-oom
-- Extends the lease of an owner on a job.
-- KEYS  job
-- ARGV  owner · context · claim · lease, ms
-- Gives 'renewed' · 'stop' (its stop was requested) · 'timeout' (its time limit is over) · 'lost' (another owner has
-- it, or none). After its time limit a job is not renewed any more, whichever word says so: the rest of the lease is
-- for recording it.
local read = jobs.reader('status', 'attempt', 'lease', 'given_back', 'started_at', 'timeout', 'stop_requested_at')

return function(names)
  local id, claim, lease = calling.job_of(names[1]), request.take(), calling.lease_of(request.take())
  if not id or not tonumber(claim) or not lease then
    return redis.error_reply('ERR the key is that of a job, the third argument its claim, the fourth the lease, from 1 ms to a day')
  end
  local job = read(id)
  if not calling.holds(job, claim) then return 'lost' end
  local since = time.millis(job.started_at)
  local is_over = since and since + values.number(job.timeout, jobs.DEFAULT_TIMEOUT_SECONDS) * 1000 <= request.now
  if not is_over then calling.with({ lease, id, claim }, functions.renew) end
  return job.stop_requested_at and 'stop' or is_over and 'timeout' or 'renewed'
end
