#!lua flags=allow-oom
-- Ends the leases of dead servers, so that the reaper takes their jobs, and finds other servers that hold jobs in the name of actors of a pool.
-- ARGV  9 where to go on, from 0   10 how many leases to look at, about   11 number of actors · actor …   then dead servers …
-- Gives {where to go on, 0 at the end, number of leases ended, those other servers …}.
local actors, dead = {}, {}
local next_place, entries = unpack(redis.call('ZSCAN', leases_key, ARGV[9], 'COUNT', ARGV[10]))
for at = 12, 11 + ARGV[11] do actors[ARGV[at]] = true end
for at = 12 + ARGV[11], #ARGV do dead[ARGV[at]] = true end

local answer, seen = { next_place, 0 }, {}
for at = 1, #entries, 2 do
  local id = entries[at]
  local job = try('HMGET', job_prefix .. id, 'status', 'actor', 'lease')
  local owner = job and job[1] == 'started' and job[3]
  if owner and dead[owner] then
    -- With 0 it is over at once, whoever has looked at leases lately. What was ended once stays ended, however often it is looked at.
    if tonumber(entries[at + 1]) > 0 then
      redis.call('ZADD', leases_key, 'XX', 0, id)
      answer[2] = answer[2] + 1
    end
  elseif owner and owner ~= '' and owner ~= server and actors[job[2]] and not seen[owner] then
    seen[owner] = true
    answer[#answer + 1] = owner
  end
end
return answer
