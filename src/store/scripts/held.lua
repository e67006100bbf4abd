#!lua flags=no-writes
-- Finds running jobs that belong to a pool of this server, so that it can give back those it knows nothing of. Renewals that reorder the leases
-- meanwhile hide none.
-- ARGV  9 where to go on, from 0   10 how many to look at, about   11 what the names of the pool's actors begin with
-- Gives {where to go on, 0 at the end, then id · claim …}; a job may be given twice.
local pool = ARGV[11]
local next_place, entries = unpack(redis.call('ZSCAN', leases_key, ARGV[9], 'COUNT', ARGV[10]))
local answer = { next_place }
for at = 1, #entries, 2 do
  local id = entries[at]
  local job = try('HMGET', job_prefix .. id, 'status', 'attempt', 'lease', 'actor', 'given_back')
  if job and job[1] == 'started' and job[3] == server and job[4] and string.sub(job[4], 1, #pool) == pool then
    answer[#answer + 1] = id
    answer[#answer + 1] = string.format('%.0f', claim_of(job[2], job[5]))
  end
end
return answer
