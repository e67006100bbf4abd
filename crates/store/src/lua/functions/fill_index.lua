-- Flags:
-- Adds objects to indexes that are being created, unless they were stored since: then they are in them. With 'ready' it
-- notes that the indexes are complete.
-- ARGV  collection · 'ready' or '' · number of indexes · of each: field · mark of its creation · then of each object: id · revision
--       · number of entries · of each entry: field · key
-- Gives 'filled', or 'stale' (one of these indexes is not being created, or was dropped and is created anew).
return function()
  local name, ready = request.take_many(2)
  local collection, making, has_index = objects.of(name), {}, {}
  for _ = 1, request.take_number() do
    local field, mark = request.take_many(2)
    local state = objects.state(collection, field)
    -- Another caller that creates it has finished.
    if state ~= mark and state ~= 'ready' then return 'stale' end
    making[#making + 1] = field
  end
  for _, field in ipairs(objects.fields(collection)) do has_index[field] = true end

  while request.has_more() do
    local id, revision, many = request.take(), request.take(), request.take_number()
    local is_same = objects.revision(collection, id) == revision
    local entries, known = {}, {}
    if is_same then
      local before = objects.entries(collection, id)
      for at = 1, #before, 2 do
        -- No entry of a dropped index is kept.
        if has_index[before[at]] then
          entries[#entries + 1], entries[#entries + 2] = before[at], before[at + 1]
          known[before[at] .. '\0' .. before[at + 1]] = true
        end
      end
    end
    for _ = 1, many do
      local field, key = request.take_many(2)
      if is_same then
        objects.enter(collection, field, key, id)
        if not known[field .. '\0' .. key] then entries[#entries + 1], entries[#entries + 2] = field, key end
      end
    end
    if is_same then objects.keep_entries(collection, id, revision, entries) end
  end
  if ready == 'ready' then
    for _, field in ipairs(making) do objects.note_ready(collection, field) end
  end
  return 'filled'
end
