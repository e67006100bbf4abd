-- Flags: allow-oom
-- Keeps a job with its owner for another lease.
-- KEYS  job
-- ARGV  owner · context · claim · lease, ms
-- Gives 'renewed' · 'stop' (renewed, and somebody asks for it to be stopped) · 'lost' (another owner has it, or none).
return function(names)
  local id, claim, lease = calling.job_of(names[1]), request.take(), request.take()
  if not id or not tonumber(claim) or not tonumber(lease) then
    return redis.error_reply('ERR the key is that of a job, the third argument its claim, the fourth the lease in ms')
  end
  if #calling.with({ lease, id, claim }, functions.renew) > 0 then return 'lost' end
  return redis.call('HEXISTS', keys.job(id), 'stop_requested_at') == 1 and 'stop' or 'renewed'
end
