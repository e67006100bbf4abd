-- Flags: no-writes
-- Reads objects of a collection in the order of an index, or of their ids. Writes nothing.
-- ARGV  collection · field, or '' for the ids · the first and the last entry, as ZRANGE BYLEX takes them · 'descending' or ''
--       · 'revisions' or '' · maximum number of objects · maximum size, bytes; the first object always fits
-- Gives {'unindexed'} (the field has no index that is ready) or {'more' or 'end', the last entry that was read or '',
-- then of each object: entry · revision, if it was asked for, or '' · JSON}. Entries of the ids are ids.

-- The number of entries that are read at once, and in all: the objects of some may be deleted.
local CHUNK, MOST_ENTRIES = 64, 2000

return function()
  local name, field, first, last, direction, revisions, most, room = request.take_many(8)
  local collection = objects.of(name)
  most, room = tonumber(most), tonumber(room)
  if field ~= '' and not objects.is_ready(collection, field) then return { 'unindexed' } end
  local key, found, at, reached = field == '' and collection.ids or objects.index_key(collection, field), {}, 0, ''
  while at < MOST_ENTRIES do
    local chunk = math.min(CHUNK, most + 1 - #found / 3)
    local entries
    if direction == 'descending' then
      entries = commands.try('ZREVRANGEBYLEX', key, last, first, 'LIMIT', at, chunk) or {}
    else
      entries = commands.try('ZRANGEBYLEX', key, first, last, 'LIMIT', at, chunk) or {}
    end
    for _, entry in ipairs(entries) do
      if #found == 3 * most then return { 'more', reached, unpack(found) } end
      local id = field == '' and entry or string.match(entry, '%z(.*)$')
      local json = id and commands.try('HGET', collection.objects, id)
      if json then
        if #found > 0 and #json > room then return { 'more', reached, unpack(found) } end
        room = room - #json
        local revision = revisions == 'revisions' and objects.revision(collection, id) or ''
        found[#found + 1], found[#found + 2], found[#found + 3] = entry, revision, json
      end
      reached = entry
    end
    if #entries < chunk then return { 'end', reached, unpack(found) } end
    at = at + #entries
  end
  return { 'more', reached, unpack(found) }
end
