-- Flags: no-writes
-- Searches the jobs that ended in error, from the newest to the oldest, for those that may pass a filter. Writes
-- nothing.
-- ARGV  time, ms, and id of the first to check, or '' and '' · maximum time, ms · minimum time, ms · number of jobs to check
--       · number of jobs wanted · the filter, as in filter.lua
-- Gives {'partial'} (some may be missing here) or {'more' or 'end', time and id at which to continue, or '' and '',
-- then time · id …}.

-- The number of entries that are read at once.
local CHUNK = 128
-- The number of entries that are read in a call, with those that other programs added or that are not wanted.
local MOST_READ = 4096

return function()
  local from, id_from, latest, earliest = request.take_number(), request.take(), request.take_number(), request.take_number()
  local to_look_at, wanted = request.take_number(), request.take_number()
  local key, passes = keys.index_of_status('error'), filter.take()
  if not commands.try('ZSCORE', key, '') then return { 'partial' } end
  latest = math.min(from or math.huge, latest)
  local position, found = redis.call('ZCOUNT', key, '(' .. values.digits(latest), '+inf'), {}
  for _ = 1, MOST_READ / CHUNK do
    local entries = redis.call('ZREVRANGE', key, position, position + CHUNK - 1, 'WITHSCORES')
    for at = 1, #entries, 2 do
      local id, listed = entries[at], tonumber(entries[at + 1])
      if id == '' or listed < earliest then return { 'end', '', '', unpack(found) } end
      -- Several came at the same time.
      if values.is_uuid(id) and (not from or listed < from or listed == from and id <= id_from) then
        local text = values.digits(listed)
        if to_look_at == 0 or #found == 2 * wanted then return { 'more', text, id, unpack(found) } end
        to_look_at = to_look_at - 1
        if passes(keys.job(id)) then
          found[#found + 1] = text
          found[#found + 1] = id
        end
      end
    end
    if #entries < 2 * CHUNK then return { 'end', '', '', unpack(found) } end
    position = position + CHUNK
  end
  return { 'partial' }
end
