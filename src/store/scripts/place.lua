#!lua flags=no-writes
-- Finds the place in the index of an hour from which on all jobs came at a time or later. What cannot be told is before it.
-- ARGV  9 index key   10 time, ms
-- Gives the place.
local index, time = ARGV[9], tonumber(ARGV[10])
local low, high = 0, index_length(index)
while low < high do
  local middle = math.floor((low + high) / 2)
  local at = time_at(index, middle, high - 1)
  if at and at >= time then high = middle else low = middle + 1 end
end
return low
