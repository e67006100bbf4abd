-- Flags: allow-oom
-- Extends the leases of running jobs of this server.
-- ARGV  lease, ms · then pairs: id · claim
-- Gives {positions, from 1, of the pairs that this server does not hold any more}.
local read = jobs.reader('status', 'attempt', 'lease', 'given_back')

return function()
  local lost, lease_until, at = {}, request.now + request.take(), 0
  while request.has_more() do
    local id, claim = request.take(), request.take_number()
    at = at + 1
    local job = read(id)
    if job and job.status == 'started' and job.lease == request.server and jobs.claim_of(job.attempt, job.given_back) == claim then
      redis.call('ZADD', keys.leases, lease_until, id)
    else
      lost[#lost + 1] = at
    end
  end
  return lost
end
