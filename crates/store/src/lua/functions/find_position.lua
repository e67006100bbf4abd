-- Flags: no-writes
-- Finds the position in the index of an hour from which on all jobs came at a time or later. Jobs with an unknown time
-- are before it.
-- ARGV  index key · time, ms
-- Gives the position.
return function()
  local list, from = request.take(), request.take_number()
  local low, high = 0, index.length(list)
  while low < high do
    local middle = math.floor((low + high) / 2)
    local at = index.time_at(list, middle, high - 1)
    if at and at >= from then high = middle else low = middle + 1 end
  end
  return low
end
