-- Objects that scripts store, and their indexes.
--
-- A key that a foreign program has replaced by one of another type is deleted.
--
-- An index is a sorted set whose entries all have the score 0, so they are in the order of their bytes: the key of a
-- value, a zero byte, the id of the object. The index entries of each object are kept, so that they can be removed
-- again.
local try, insist = commands.try, commands.insist
local objects = {}

-- The maximum number of collections of a context, and of indexes of a collection.
objects.MOST_COLLECTIONS, objects.MOST_INDEXES = 1000, 16

-- The prefix of the name of an indexed field in the hash of a collection, and its value when the index is complete.
local INDEX, READY = 'index:', 'ready'

-- The keys of a collection.
function objects.of(name)
  local key = keys.collection(name)
  return { name = name, key = key, objects = key .. ':objects', entries = key .. ':entries', ids = key .. ':ids' }
end

function objects.index_key(collection, field) return collection.key .. ':index:' .. field end

-- The state of an index: 'ready', or the mark of its creation in progress. Nil: there is none.
function objects.state(collection, field) return try('HGET', collection.key, INDEX .. field) or nil end

function objects.is_ready(collection, field) return objects.state(collection, field) == READY end

-- Notes that an index has all objects.
function objects.note_ready(collection, field) insist('HSET', collection.key, INDEX .. field, READY) end

-- Notes that an index is being created. Returns the mark of this creation, and whether it has just begun: callers that
-- create the same index at the same time have the same mark.
function objects.note_making(collection, field)
  local state = objects.state(collection, field)
  if state then return state, false end
  local mark = objects.next_revision(collection)
  insist('HSET', collection.key, INDEX .. field, mark)
  return mark, true
end

-- Notes that a field has no index. Returns 0 if it had none.
function objects.forget_index(collection, field) return try('HDEL', collection.key, INDEX .. field) or 0 end

-- The fields of a collection that have an index.
function objects.fields(collection)
  local fields = {}
  for _, name in ipairs(try('HKEYS', collection.key) or {}) do
    if string.sub(name, 1, #INDEX) == INDEX then fields[#fields + 1] = string.sub(name, #INDEX + 1) end
  end
  return fields
end

-- True if exactly these fields have an index. Entries that were made for other fields have to be made again.
function objects.has_indexes_of(collection, fields)
  local has = {}
  for _, field in ipairs(fields) do has[field] = true end
  local known = objects.fields(collection)
  for _, field in ipairs(known) do
    if not has[field] then return false end
  end
  return #known == #fields
end

-- The size of a stored object, bytes; 0 if it does not exist.
function objects.size(collection, id) return try('HSTRLEN', collection.objects, id) or 0 end

-- True if a context with a maximum size of all objects (0: any size) has room for more bytes.
function objects.has_room(most, more)
  return most == 0 or more <= 0 or math.max(tonumber(try('GET', keys.stored) or nil) or 0, 0) + more <= most
end

-- Adds to the size of the objects of a collection, bytes. A value of a foreign program that is no number counts as 0.
function objects.count_bytes(collection, more)
  if more == 0 then return end
  commands.increase(collection.key, 'bytes', more)
  if not try('INCRBY', keys.stored, more) then redis.call('SET', keys.stored, math.max(more, 0)) end
end

-- Subtracts the size of a collection that is deleted.
function objects.uncount(collection) objects.count_bytes(collection, -(tonumber(try('HGET', collection.key, 'bytes') or nil) or 0)) end

-- A different value each time that an object is stored.
function objects.next_revision(collection)
  return values.digits(request.now) .. '-' .. commands.revise(collection.key, 'revision')
end

-- Notes that a collection exists. False: there are too many.
function objects.note(collection)
  if try('SISMEMBER', keys.collections, collection.name) == 1 then return true end
  if (try('SCARD', keys.collections) or 0) >= objects.MOST_COLLECTIONS then return false end
  insist('SADD', keys.collections, collection.name)
  return true
end

-- Forgets a collection that has no objects and no indexes.
function objects.forget_if_empty(collection)
  if redis.call('EXISTS', collection.objects) == 1 or #objects.fields(collection) > 0 then return end
  objects.uncount(collection)
  redis.call('DEL', collection.key, collection.entries, collection.ids)
  try('SREM', keys.collections, collection.name)
end

-- The revision of an object, which is kept before its index entries. Nil: unknown.
function objects.revision(collection, id)
  local packed = try('HGET', collection.entries, id)
  local is_read, _, revision = pcall(cmsgpack.unpack_one, packed or '')
  return packed and is_read and type(revision) == 'string' and revision or nil
end

-- The index entries of an object: field · key …. Anything in another form was not written here, and counts as nothing.
function objects.entries(collection, id)
  local packed = try('HGET', collection.entries, id)
  local is_read, _, entries = pcall(cmsgpack.unpack, packed or '')
  if not (packed and is_read and type(entries) == 'table' and #entries % 2 == 0) then return {} end
  for _, part in ipairs(entries) do
    if type(part) ~= 'string' then return {} end
  end
  return entries
end

function objects.keep_entries(collection, id, revision, entries)
  insist('HSET', collection.entries, id, cmsgpack.pack(revision, entries))
end

-- Adds an object to an index.
function objects.enter(collection, field, key, id) insist('ZADD', objects.index_key(collection, field), 0, key .. '\0' .. id) end

-- Removes an object from all indexes except for the entries in `stay`, a set of field .. zero byte .. key.
function objects.leave(collection, id, entries, stay)
  for at = 1, #entries, 2 do
    local field, key = entries[at], entries[at + 1]
    if not stay[field .. '\0' .. key] then try('ZREM', objects.index_key(collection, field), key .. '\0' .. id) end
  end
end

return objects
