#!lua flags=no-writes
-- A part of the index of an hour.
-- ARGV  9 index key   10 behind the last place that is wanted, or more   11 how many ids are wanted
-- Gives {place of the first, ids …}, the oldest first.
local last = math.min(tonumber(ARGV[10]), index_length(ARGV[9]))
local first = math.max(last - ARGV[11], 0)
if last == 0 then return { 0 } end
return { first, unpack(index_range(ARGV[9], first, last - 1)) }
