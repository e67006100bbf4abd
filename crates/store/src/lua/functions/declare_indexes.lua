-- Flags:
-- Declares indexes of a collection, which may have no objects yet. Those that are not ready have to be filled.
-- ARGV  collection · then the fields, each once …
-- Gives {'full'} (there are too many collections), {'many', maximum number of indexes} or {'declared', then of each
-- index that is not ready: field · mark of its creation · 'new' or ''}.
return function()
  local collection, fields, added = objects.of(request.take()), {}, 0
  while request.has_more() do
    local field = request.take()
    fields[#fields + 1] = field
    if not objects.state(collection, field) then added = added + 1 end
  end
  local closed = access.refuse_closed()
  if closed then return closed end
  if #objects.fields(collection) + added > objects.MOST_INDEXES then return { 'many', tostring(objects.MOST_INDEXES) } end
  if not objects.note(collection) then return { 'full' } end
  local declared = { 'declared' }
  for _, field in ipairs(fields) do
    if not objects.is_ready(collection, field) then
      local mark, is_new = objects.note_making(collection, field)
      declared[#declared + 1], declared[#declared + 2], declared[#declared + 3] = field, mark, is_new and 'new' or ''
    end
  end
  return declared
end
