-- Finds running jobs that belong to a pool of this server, so that it can give back those it knows nothing of.
-- ARGV  9 first place in the leases   10 how many to look at   11 what the names of the pool's actors begin with
-- Gives {number looked at, then id · attempt …}.
local ids, pool = redis.call('ZRANGE', leases_key, ARGV[9], ARGV[9] + ARGV[10] - 1), ARGV[11]
local answer = { #ids }
for _, id in ipairs(ids) do
  local job = try('HMGET', job_prefix .. id, 'status', 'attempt', 'lease', 'actor')
  if job and job[1] == 'started' and job[3] == server and job[4] and string.sub(job[4], 1, #pool) == pool then
    answer[#answer + 1] = id
    answer[#answer + 1] = job[2]
  end
end
return answer
