-- Finds running jobs that belong to a pool of this server, so that it can give back those it knows nothing of.
-- ARGV  9 first place in the leases   10 how many to look at   11 what the names of the pool's actors begin with
-- Gives {number looked at, then id · claim …}.
local ids, pool = redis.call('ZRANGE', leases_key, ARGV[9], ARGV[9] + ARGV[10] - 1), ARGV[11]
local answer = { #ids }
for _, id in ipairs(ids) do
  local job = try('HMGET', job_prefix .. id, 'status', 'attempt', 'lease', 'actor', 'given_back')
  if job and job[1] == 'started' and job[3] == server and job[4] and string.sub(job[4], 1, #pool) == pool then
    answer[#answer + 1] = id
    answer[#answer + 1] = string.format('%.0f', claim_of(job[2], job[5]))
  end
end
return answer
