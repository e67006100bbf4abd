-- Flags:
-- Stores an object, replacing the one with its id, with its entries in the indexes of its collection.
-- ARGV  job · host call, as in once.lua · maximum size of all objects, bytes, or 0 · collection · id · object, JSON
--       · number of fields for which there are entries · the fields …
--       then of each entry: field · key
-- Gives 'stored', 'stale' (other fields have an index), 'full' (there are too many collections), 'large' (all objects
-- would exceed their maximum size), or 'lost' or 'over', as in once.lua.
return function()
  local host_call, most = once.take(), request.take_number()
  local answered = once.answered(host_call)
  if answered then return answered end
  local name, id, json = request.take_many(3)
  local collection, fields = objects.of(name), {}
  for at = 1, request.take_number() do fields[at] = request.take() end
  if not objects.has_indexes_of(collection, fields) then return 'stale' end
  local closed = access.refuse_closed()
  if closed then return closed end
  local function refused(why)
    once.note(host_call, why)
    return why
  end
  local more = #json - objects.size(collection, id)
  if not objects.has_room(most, more) then return refused('large') end
  if not objects.note(collection) then return refused('full') end
  once.note(host_call, 'stored')

  local before, entries, stay = objects.entries(collection, id), {}, {}
  while request.has_more() do
    local field, key = request.take_many(2)
    entries[#entries + 1], entries[#entries + 2] = field, key
    stay[field .. '\0' .. key] = true
  end
  objects.leave(collection, id, before, stay)
  for at = 1, #entries, 2 do objects.enter(collection, entries[at], entries[at + 1], id) end
  objects.keep_entries(collection, id, objects.next_revision(collection), entries)
  commands.insist('ZADD', collection.ids, 0, id)
  commands.insist('HSET', collection.objects, id, json)
  objects.count_bytes(collection, more)
  return 'stored'
end
