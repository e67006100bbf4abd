-- Flags: no-writes
-- Finds running jobs that belong to a pool of this server, so that it can requeue those that it does not know. Renewals
-- that reorder the leases in the meantime hide no job.
-- ARGV  position to continue at, from 0 · number of leases to check, about · prefix of the names of the pool's actors
-- Gives {position to continue at, 0 at the end, then id · claim …}; a job may be returned twice.
local read = jobs.reader('status', 'attempt', 'lease', 'actor', 'given_back')

return function()
  local from, many, pool = request.take(), request.take(), request.take()
  local next_place, entries = unpack(redis.call('ZSCAN', keys.leases, from, 'COUNT', many))
  local answer = { next_place }
  for at = 1, #entries, 2 do
    local id = entries[at]
    local job = read(id)
    if job and job.status == 'started' and job.lease == request.server and job.actor and string.sub(job.actor, 1, #pool) == pool then
      answer[#answer + 1] = id
      answer[#answer + 1] = values.digits(jobs.claim_of(job.attempt, job.given_back))
    end
  end
  return answer
end
