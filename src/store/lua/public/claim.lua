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
  local actor, lease = request.take(), request.take_number()
  local script_type = actor and string.match(actor, '^([%w_.-]+):[^:%s]+:%d+$')
  if not script_type or not lease or lease <= 0 then
    return redis.error_reply("ERR the third argument is the actor, 'type:group:instance', the fourth its lease in ms")
  end
  local arguments = { lease, script_type, 0, 1, actor, 1, #names }
  for _, queue in ipairs(names) do arguments[#arguments + 1], arguments[#arguments + 2] = queue, 1 end
  for _, rest in ipairs({ '', 0, 0 }) do arguments[#arguments + 1] = rest end
  local _, taken = unpack(calling.with(arguments, functions.turn))
  local job = unpack(taken)
  if not job then return {} end
  local _, _, id, attempt, claim = unpack(job)
  redis.call('HSET', keys.job(id), 'claimed_by', request.server)
  local answer = { 'id', id, 'claim', tostring(claim), 'attempt', tostring(attempt) }
  for place, name in ipairs(NAMES) do
    local value = job[place + 5]
    if value then answer[#answer + 1], answer[#answer + 2] = name, value end
  end
  return answer
end
