-- Takes jobs from servers that let their lease run out.
-- ARGV  9 at most so many
-- Gives {number of leases looked at, script types that have work again …}.
local looked, types, seen = 0, {}, {}
for _, id in ipairs(redis.call('ZRANGEBYSCORE', leases_key, '-inf', now, 'LIMIT', 0, ARGV[9])) do
  looked = looked + 1
  redis.call('ZREM', leases_key, id)
  local job = try('HMGET', job_prefix .. id, 'status', 'attempt', 'crashes', 'stop_requested_at', 'script_type', 'group', 'instance', 'priority', unpack(END_FIELDS))
  if job and job[1] == 'started' then
    local attempt, script_type, of = tonumber(job[2]) or 0, job[5] or 'osis', { unpack(job, 9, 15) }
    count(script_type, 'lease_lost')
    if job[4] then
      fail(id, attempt, 'stopped', 'stopped_by_request', of)
    elseif not crashed(id, attempt, job[3], script_type, of) then
      requeue(id, attempt, 'crashed', script_type, job[6], job[7], job[8])
      if not seen[script_type] then
        seen[script_type] = true
        types[#types + 1] = script_type
      end
    end
  end
end
flush()
tell_own()
return { looked, unpack(types) }
