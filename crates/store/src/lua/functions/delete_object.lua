-- Flags: allow-oom
-- Deletes an object, and its collection if that has no other object and no index.
-- ARGV  job · host call, as in once.lua · collection · id
-- Gives '1', '0' if there was no such object, or 'lost' or 'over', as in once.lua.
return function()
  local host_call = once.take()
  local name, id = request.take_many(2)
  local collection, answered = objects.of(name), once.answered(host_call)
  if answered then return answered end
  objects.leave(collection, id, objects.entries(collection, id), {})
  commands.try('HDEL', collection.entries, id)
  commands.try('ZREM', collection.ids, id)
  objects.count_bytes(collection, -objects.size(collection, id))
  local deleted = commands.try('HDEL', collection.objects, id) or 0
  once.note(host_call, deleted)
  objects.forget_if_empty(collection)
  return tostring(deleted)
end
