-- Flags: no-writes
-- Searches the sets of jobs that have not ended for jobs that may pass a filter. Writes nothing.
-- ARGV  time, ms, and id of the first that is wanted, or '' and '' · status · maximum number of jobs to check · number of jobs wanted
--       · the filter, as in filter.lua
-- Gives {'many'} (there are more jobs) or {'more' or 'end', time and id at which to continue, or '' and '', then time ·
-- id …}. The newest come first.
local try = commands.try

-- The sets that contain jobs of a status.
local function sets_of(status, most)
  local left = keys.index_of_status('left')
  if status == 'dispatched' then return { keys.watched, left } end
  if status ~= 'started' then return { keys.scheduled, left } end
  -- Jobs of foreign actors are in the same set as queued ones. A long queue is not searched for these if there is no
  -- foreign actor.
  if (try('ZCARD', keys.watched) or 0) > most / 2 and redis.call('EXISTS', keys.foreign) == 0 then return { keys.leases, left } end
  return { keys.leases, keys.watched, left }
end

local function newer(a, b)
  if a.time ~= b.time then return a.time > b.time end
  return a.id > b.id
end

return function()
  local from, id_from, status, most, wanted =
    request.take_number(), request.take(), request.take(), request.take_number(), request.take_number()
  local passes, sets, number_of = filter.take(), sets_of(status, most), 0
  for _, set in ipairs(sets) do number_of = number_of + (try('ZCARD', set) or 0) end
  if number_of > most then return { 'many' } end

  local entries, seen = {}, {}
  for _, set in ipairs(sets) do
    for _, id in ipairs(try('ZRANGE', set, 0, -1) or {}) do
      if not seen[id] and values.is_uuid(id) and passes(keys.job(id)) then
        local listed = jobs.listed_at(id)
        local is_behind = not from or listed and (listed < from or listed == from and id <= id_from)
        if listed and is_behind then entries[#entries + 1] = { time = listed, id = id } end
      end
      seen[id] = true
    end
  end
  table.sort(entries, newer)
  local next_job, found = entries[wanted + 1], {}
  for at = 1, math.min(wanted, #entries) do
    found[#found + 1] = values.digits(entries[at].time)
    found[#found + 1] = entries[at].id
  end
  if not next_job then return { 'end', '', '', unpack(found) } end
  return { 'more', values.digits(next_job.time), next_job.id, unpack(found) }
end
