#!lua flags=allow-oom
-- Keeps running jobs with this server for longer.
-- ARGV  9 lease, ms   then pairs: id · attempt
-- Gives {id · attempt … of those that this server does not hold any more}.
local lost, lease_until = {}, now + ARGV[9]
for at = 10, #ARGV, 2 do
  local id, attempt = ARGV[at], ARGV[at + 1]
  local job = try('HMGET', job_prefix .. id, 'status', 'attempt', 'lease')
  if job and job[1] == 'started' and job[2] == attempt and job[3] == server then
    redis.call('ZADD', leases_key, lease_until, id)
  else
    lost[#lost + 1], lost[#lost + 2] = id, attempt
  end
end
return lost
