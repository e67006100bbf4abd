-- Keeps running jobs with this server for longer.
-- ARGV  9 new lease expiry, ms   then pairs: id · attempt
-- Gives {ids that this server does not hold any more}.
local lost = {}
for at = 10, #ARGV, 2 do
  local id, attempt = ARGV[at], ARGV[at + 1]
  local job = try('HMGET', job_prefix .. id, 'status', 'attempt', 'lease')
  if job and job[1] == 'started' and job[2] == attempt and job[3] == server then
    redis.call('ZADD', leases_key, ARGV[9], id)
  else
    lost[#lost + 1] = id
  end
end
return lost
