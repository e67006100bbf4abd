-- Flags: allow-oom
-- Drops an index, and its collection if that has no objects and no other index. The kept entries of an object are
-- removed when it is stored again.
-- ARGV  job · host call, as in once.lua · collection · field · '', or the mark of its creation: then it is dropped only while that goes on
-- Gives '1', '0' if there was no such index, or 'lost' or 'over', as in once.lua.
return function()
  local host_call = once.take()
  local name, field, mark = request.take_many(3)
  local collection, answered = objects.of(name), once.answered(host_call)
  if answered then return answered end
  if mark ~= '' and objects.state(collection, field) ~= mark then return '0' end
  redis.call('UNLINK', objects.index_key(collection, field))
  local dropped = objects.forget_index(collection, field)
  once.note(host_call, dropped)
  objects.forget_if_empty(collection)
  return tostring(dropped)
end
