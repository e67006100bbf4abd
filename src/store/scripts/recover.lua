-- Ends the leases of dead servers, so that the reaper takes their jobs, and finds other servers that hold jobs in the name of actors of a pool.
-- ARGV  9 first place in the leases   10 how many to look at   11 number of actors · actor …   then dead servers …
-- Gives {number looked at, number of leases ended, those other servers …}.
local ids, actors, dead = redis.call('ZRANGE', leases_key, ARGV[9], ARGV[9] + ARGV[10] - 1), {}, {}
for at = 12, 11 + ARGV[11] do actors[ARGV[at]] = true end
for at = 12 + ARGV[11], #ARGV do dead[ARGV[at]] = true end

local answer, seen = { #ids, 0 }, {}
for _, id in ipairs(ids) do
  local job = try('HMGET', job_prefix .. id, 'status', 'actor', 'lease')
  local owner = job and job[1] == 'started' and job[3]
  if owner and dead[owner] then
    redis.call('ZADD', leases_key, 'XX', now, id)
    answer[2] = answer[2] + 1
  elseif owner and owner ~= '' and owner ~= server and actors[job[2]] and not seen[owner] then
    seen[owner] = true
    answer[#answer + 1] = owner
  end
end
return answer
