-- Flags: allow-oom
-- Deletes a collection with all its objects and indexes. The memory is freed later, beside other work.
-- ARGV  collection
-- Gives the number of its objects, or -1 if there was no such collection.
return function()
  local collection = objects.of(request.take())
  local many = commands.try('HLEN', collection.objects) or 0
  for _, field in ipairs(objects.fields(collection)) do redis.call('UNLINK', objects.index_key(collection, field)) end
  objects.uncount(collection)
  redis.call('UNLINK', collection.key, collection.objects, collection.entries, collection.ids)
  return commands.try('SREM', keys.collections, collection.name) == 1 and many or -1
end
