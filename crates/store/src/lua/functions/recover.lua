-- Flags: allow-oom
-- Ends the leases of dead servers, so that the reaper takes their jobs, and finds other servers that hold jobs in the
-- name of actors of a pool. Actors in other languages need no presence: only their leases say how long they count as
-- alive.
-- ARGV  position to continue at, from 0 · number of leases to check, about · number of actors · actor … · then dead servers …
-- Gives {position to continue at, 0 at the end, number of leases ended, those other servers …}.
local read = jobs.reader('status', 'actor', 'lease', 'claimed_by')

return function()
  local from, many, actors, dead = request.take(), request.take(), {}, {}
  for _ = 1, request.take_number() do actors[request.take()] = true end
  while request.has_more() do dead[request.take()] = true end
  local next_place, entries = unpack(redis.call('ZSCAN', keys.leases, from, 'COUNT', many))

  local ended, others, seen = 0, {}, {}
  for at = 1, #entries, 2 do
    local id, lease = entries[at], tonumber(entries[at + 1])
    local job = read(id)
    local owner = job and job.status == 'started' and job.lease
    if owner and dead[owner] then
      -- A lease of 0 has expired at once, even if leases were not checked lately. A second call changes nothing.
      if lease > 0 then
        redis.call('ZADD', keys.leases, 'XX', 0, id)
        ended = ended + 1
      end
    elseif owner and owner ~= '' and owner ~= request.server and owner ~= job.claimed_by and actors[job.actor] and not seen[owner] then
      seen[owner] = true
      others[#others + 1] = owner
    end
  end
  return { next_place, ended, unpack(others) }
end
