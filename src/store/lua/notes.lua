-- What a function has just written of a job and need not be looked for again. Most jobs have none of the fields that few have, and looking
-- for one that a hash does not have means looking through all of it. A note says how many fields the hash of such a job has: one that has
-- got no other since has none of those. A note is one for the functions that wrote it alone: where there is none, everything is read.
local try = commands.try
local notes = {}

-- A job with one of these is not noted. What else few have (a request to stop, failures) comes later, and makes the hash longer.
local OF_FEW = {
  retention = true, idempotency_key = true, reply_to = true, reply_to_queue = true, rel = true, dialect = true, retry_backoff = true,
}

-- Notes are kept of so many jobs, and of as many before those.
local MOST_KEPT = 8192
local fields_of, since_of, kept = {}, {}, 0
local old_fields_of, old_since_of = {}, {}

-- Notes that the hash of a job has so many fields since a time, which is in one of them.
function notes.keep(id, fields, since)
  if kept == MOST_KEPT then
    old_fields_of, old_since_of = fields_of, since_of
    fields_of, since_of, kept = {}, {}, 0
  end
  fields_of[id], since_of[id], kept = fields, since, kept + 1
end

-- The same of a new job whose caller gave it these fields, each followed by its value.
function notes.keep_new(id, fields, given, first, last)
  for at = first, last, 2 do
    if OF_FEW[given[at]] then return end
  end
  notes.keep(id, fields, request.now_text)
end

-- Notes that a function has written so many more fields into the hash of a job, none of which few have.
function notes.grow(id, by)
  if fields_of[id] then fields_of[id] = fields_of[id] + by end
end

-- Since when a job has had as many fields as it has now, and how many those are; nil where that was not noted. A note serves once.
function notes.take(id)
  local fields, since = fields_of[id], since_of[id]
  if fields then
    fields_of[id], since_of[id], kept = nil, nil, kept - 1
  else
    fields, since = old_fields_of[id], old_since_of[id]
    if not fields then return nil end
    old_fields_of[id], old_since_of[id] = nil, nil
  end
  if try('HLEN', keys.job(id)) == fields then return since, fields end
end

return notes
