-- Flags: allow-oom
-- Requeues a job as if it had not been taken: another actor takes it next, and no attempt is counted.
-- KEYS  job
-- ARGV  owner · context · claim
-- Gives 'dispatched' · 'lost' (the claim does not hold the job any more).
return function(names)
  local id, claim = calling.job_of(names[1]), request.take()
  if not id or not tonumber(claim) then return redis.error_reply('ERR the key is that of a job, the third argument its claim') end
  return calling.record(id, claim, 'released', '-')
end
