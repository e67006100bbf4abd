#!lua flags=allow-oom
-- Keeps running jobs with this server for longer.
-- ARGV  9 lease, ms   then pairs: id · claim
-- Gives {places, from 1, of the pairs that this server does not hold any more}.
local lost, lease_until = {}, now + ARGV[9]
for at = 10, #ARGV, 2 do
  local id, claim = ARGV[at], ARGV[at + 1]
  local job = try('HMGET', job_prefix .. id, 'status', 'attempt', 'lease', 'given_back')
  if job and job[1] == 'started' and job[3] == server and claim_of(job[2], job[4]) == tonumber(claim) then
    redis.call('ZADD', leases_key, lease_until, id)
  else
    lost[#lost + 1] = (at - 8) / 2
  end
end
return lost
