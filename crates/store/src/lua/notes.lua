-- Keeps, in the memory of this library, how many fields the hash of a job had when a function last wrote it, of jobs without fields that
-- few have. As long as the hash has as many, none was added, and readers ask for the usual fields alone: to see that a short hash lacks a
-- field, Redis compares all that it has. Another library (that of another version, the public one) has notes of its own. Where there is
-- none, everything is read.
local try = commands.try
local notes = {}

-- Fields that few jobs have: a job that is created with one of these is not noted …
local AT_CREATION = {
  retention = true, idempotency_key = true, reply_to = true, reply_to_queue = true, rel = true, dialect = true, retry_backoff = true,
}
-- … and these come later, which makes the hash longer.
local LATER = { stop_requested_at = true, unseen = true, given_back = true, released = true, failures = true }

-- These names of fields but for those that a noted job does not have.
function notes.usual(names)
  local usual = {}
  for _, name in ipairs(names) do
    if not (AT_CREATION[name] or LATER[name]) then usual[#usual + 1] = name end
  end
  return usual
end

-- Notes are kept of so many jobs, and of as many before those.
local MOST_KEPT = 8192
local fields_of, since_of, kept = {}, {}, 0
local old_fields_of, old_since_of = {}, {}

-- Notes that the hash of a job has so many fields since a time that stands in `created_at` or `started_at`. Whoever takes the note compares
-- that, as another hash may have the key by now.
function notes.keep(id, fields, since)
  if kept == MOST_KEPT then
    old_fields_of, old_since_of = fields_of, since_of
    fields_of, since_of, kept = {}, {}, 0
  end
  fields_of[id], since_of[id], kept = fields, since, kept + 1
end

-- The same of a new job whose creator gave it these fields, each followed by its value.
function notes.keep_new(id, fields, given, first, last)
  for at = first, last, 2 do
    if AT_CREATION[given[at]] then return end
  end
  notes.keep(id, fields, request.now_text)
end

-- Notes that a function has written so many more fields into the hash of a job, none of them rare. Of older notes it forgets that, which
-- makes them worthless.
function notes.grow(id, by)
  if fields_of[id] then fields_of[id] = fields_of[id] + by end
end

-- How many fields a job has, and since when, if that was noted and is still so. A note serves once.
function notes.take(id)
  local fields, since = fields_of[id], since_of[id]
  if fields then
    fields_of[id], since_of[id], kept = nil, nil, kept - 1
  else
    fields, since = old_fields_of[id], old_since_of[id]
    if not fields then return nil end
    old_fields_of[id], old_since_of[id] = nil, nil
  end
  if try('HLEN', keys.job(id)) == fields then return fields, since end
end

return notes
