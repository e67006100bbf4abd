-- Flags: allow-oom
-- Records that a job's script failed. It is retried if retries are left. The values of its environment are masked.
-- KEYS  job
-- ARGV  owner · context · claim · error message · 'script', 'timeout', 'stopped' or 'limit'; 'script' if it is missing
-- Gives 'scheduled' (it is retried) · 'error' · 'lost' (the claim does not hold the job any more; nothing was
-- recorded).
local KINDS = { script = true, timeout = true, stopped = true, limit = true }
-- The maximum size of a message, bytes.
local LONGEST = 65536

return function(names)
  local id, claim, message, kind = calling.job_of(names[1]), request.take(), request.take(), request.take() or 'script'
  if not id or not tonumber(claim) or not message or not KINDS[kind] or #message > LONGEST then
    return redis.error_reply("ERR the key is that of a job; then come its claim, what is wrong in 64 KB at most, and " ..
      "script, timeout, stopped or limit")
  end
  -- The messages of a timeout and a stop are ours, and others compare them.
  if kind == 'script' or kind == 'limit' then message = masks.apply(message, commands.try('HGET', keys.job(id), 'env_vars')) end
  return calling.record(id, claim, 'error', '-', kind, message, '', '', '', '', '', foreign.next_backoff(id))
end
