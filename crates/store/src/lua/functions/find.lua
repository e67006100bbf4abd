-- Flags: no-writes
-- Searches the index of an hour, from the newest job to the oldest, for jobs that may pass a filter. Writes nothing.
-- ARGV  index key · position after the first one, or more · number of jobs to check · number of jobs wanted · the filter, as in filter.lua
-- Gives {last position that was checked, number checked, time since when that job is in the index, ms, or '', then
-- position · id …}.
return function()
  local list, behind, many, wanted = request.take(), request.take_number(), request.take_number(), request.take_number()
  local passes = filter.take()
  local last = math.min(behind, index.length(list))
  local first = math.max(last - many, 0)
  if last == 0 then return { 0, 0, '' } end
  local ids, found, position = index.range(list, first, last - 1), {}, nil
  for at = #ids, 1, -1 do
    position = first + at - 1
    if passes(keys.job(ids[at])) then
      found[#found + 1] = position
      found[#found + 1] = ids[at]
      if #found == 2 * wanted then break end
    end
  end
  position = position or first
  local listed = index.time_at(list, position, last - 1)
  return { position, last - position, listed and values.digits(listed) or '', unpack(found) }
end
