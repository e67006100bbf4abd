-- Flags: allow-oom
-- Records that a job's script returned.
-- KEYS  job
-- ARGV  owner · context · claim · output · 'text' or 'json' (the output is JSON); 'text' if it is missing
-- Gives 'finished' · 'lost' (the claim does not hold the job any more; nothing was recorded).
-- The maximum size of an output, bytes.
local LONGEST = 16 * 1024 * 1024

return function(names)
  local id, claim, output, format = calling.job_of(names[1]), request.take(), request.take(), request.take() or 'text'
  if not id or not tonumber(claim) or not output or format ~= 'text' and format ~= 'json' or #output > LONGEST then
    return redis.error_reply("ERR the key is that of a job, then come its claim, the output in 16 MB at most, and 'text' or 'json'")
  end
  return calling.record(id, claim, 'finished', format, output)
end
