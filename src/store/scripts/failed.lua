#!lua flags=no-writes
-- Looks through the jobs that ended in error, from the newest to the oldest, for those that may pass a filter. Writes nothing.
-- ARGV  9, 10 time, ms, and id of the first to look at, or '' and ''   11 no later time, ms   12 no earlier time, ms
--       13 how many to look at   14 how many are wanted   15… the filter, as in index.lua
-- Gives {'partial'} (some may be missing here) or {'more' or 'end', time and id where to go on, or '' and '', then time · id …}.
local key, passes = status_key('error'), filter_from(15)
local to_look_at, wanted = tonumber(ARGV[13]), tonumber(ARGV[14])
if not try('ZSCORE', key, '') then return { 'partial' } end
local from, id_from, earliest = tonumber(ARGV[9]), ARGV[10], tonumber(ARGV[12])
local latest = math.min(from or math.huge, tonumber(ARGV[11]))
local place, found = redis.call('ZCOUNT', key, '(' .. string.format('%.0f', latest), '+inf'), {}
local CHUNK = 128
while true do
  local entries = redis.call('ZREVRANGE', key, place, place + CHUNK - 1, 'WITHSCORES')
  for at = 1, #entries, 2 do
    local id, time = entries[at], tonumber(entries[at + 1])
    if id == '' or time < earliest then return { 'end', '', '', unpack(found) } end
    -- Several came at the same time.
    if is_uuid(id) and (not from or time < from or time == from and id <= id_from) then
      time = string.format('%.0f', time)
      if to_look_at == 0 or #found == 2 * wanted then return { 'more', time, id, unpack(found) } end
      to_look_at = to_look_at - 1
      if passes(job_prefix .. id) then
        found[#found + 1] = time
        found[#found + 1] = id
      end
    end
  end
  if #entries < 2 * CHUNK then return { 'end', '', '', unpack(found) } end
  place = place + CHUNK
end
