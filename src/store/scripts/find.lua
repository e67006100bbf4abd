#!lua flags=no-writes
-- Looks through the index of an hour, from the newest job to the oldest, for jobs that may pass a filter. Writes nothing.
-- ARGV  9 index key   10 behind the first place to look at, or more   11 how many to look at   12 how many are wanted
--       13… the filter, as in index.lua
-- Gives {place of the last that was looked at, how many were, since when that is in the index, ms, or '', then place · id …}.
local index, wanted, passes = ARGV[9], tonumber(ARGV[12]), filter_from(13)
local last = math.min(tonumber(ARGV[10]), index_length(index))
local first = math.max(last - ARGV[11], 0)
if last == 0 then return { 0, 0, '' } end
local ids, found, place = index_range(index, first, last - 1), {}, nil
for at = #ids, 1, -1 do
  place = first + at - 1
  if passes(job_prefix .. ids[at]) then
    found[#found + 1] = place
    found[#found + 1] = ids[at]
    if #found == 2 * wanted then break end
  end
end
place = place or first
local time = time_at(index, place, last - 1)
return { place, last - place, time and string.format('%.0f', time) or '', unpack(found) }
