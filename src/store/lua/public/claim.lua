-- Flags:
-- Takes the next job out of queues for an actor, with a lease.
-- KEYS  the work queues, in the order of service
-- ARGV  owner · context · actor ('type:group:instance') · lease, ms
-- Gives {} (there is nothing to do) or {'id', its id, 'claim', the number of this claim, 'attempt', …, then field · value of the fields
-- that the job has}.
local NAMES = {
  'script', 'args', 'env_vars', 'timeout', 'caller_id', 'log_path', 'retry_backoff', 'failures', 'queued_at', 'created_at', 'concurrent',
}

return function(names)
  local actor, lease = request.take(), calling.lease_of(request.take())
  local script_type, group, instance = string.match(actor or '', '^([^:]+):([^:]+):(%d+)$')
  if not (values.is_name(script_type) and values.is_name(group) and #instance <= 9 and lease) then
    return redis.error_reply("ERR the third argument is the actor, 'type:group:instance', the fourth its lease, from 1 ms to a day")
  end
  local arguments = { lease, script_type, 0, 1, actor, 1, #names }
  for _, queue in ipairs(names) do
    -- As pools say it: what is nobody's own may be sorted by caller, and then that order holds.
    arguments[#arguments + 1], arguments[#arguments + 2] = queue, string.find(queue, ':inst:', 1, true) and 1 or 0
  end
  for _, rest in ipairs({ '', 0, 0 }) do arguments[#arguments + 1] = rest end
  local _, taken = unpack(calling.with(arguments, functions.turn))
  local job = unpack(taken)
  if not job then return {} end
  local _, _, id, attempt, claim = unpack(job)
  local answer = { 'id', id, 'claim', tostring(claim), 'attempt', tostring(attempt) }
  for at, name in ipairs(NAMES) do
    local value = job[at + 5]
    if value then answer[#answer + 1], answer[#answer + 2] = name, value end
  end
  return answer
end
