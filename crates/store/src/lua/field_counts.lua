-- Keeps the number of fields in the hash of a job after a function last wrote it, in the memory of this library, for
-- jobs without rare fields. While the hash has the same number, no field was added, and readers ask only for the usual
-- fields: to see that a short hash lacks a field, Redis compares all of its fields. Another library (of another
-- version, or the public one) has notes of its own. Without a note, everything is read.
local try = commands.try
local field_counts = {}

-- Rare fields: a job that is created with one of these is not noted …
local AT_CREATION = {
  retention = true, idempotency_key = true, reply_to = true, reply_to_queue = true, rel = true, dialect = true, retry_backoff = true,
}
-- … and these are added later, which makes the hash longer.
local LATER = { stop_requested_at = true, unseen = true, given_back = true, released = true, failures = true }

-- These names of fields, without those that a noted job does not have.
function field_counts.usual(names)
  local usual = {}
  for _, name in ipairs(names) do
    if not (AT_CREATION[name] or LATER[name]) then usual[#usual + 1] = name end
  end
  return usual
end

-- The number of jobs with notes; the same number of older notes is kept as well.
local MOST_KEPT = 8192
local fields_of, since_of, kept = {}, {}, 0
local old_fields_of, old_since_of = {}, {}

-- Notes the number of fields in the hash of a job since a time that is in `created_at` or `started_at`. A reader of the
-- note compares that time, because another hash may have the key by now.
function field_counts.keep(id, fields, since)
  if kept == MOST_KEPT then
    old_fields_of, old_since_of = fields_of, since_of
    fields_of, since_of, kept = {}, {}, 0
  end
  fields_of[id], since_of[id], kept = fields, since, kept + 1
end

-- The same for a new job whose creator gave it these fields, each followed by its value.
function field_counts.keep_new(id, fields, given, first, last)
  for at = first, last, 2 do
    if AT_CREATION[given[at]] then return end
  end
  field_counts.keep(id, fields, request.now_text)
end

-- Notes that a function has added fields to the hash of a job, none of them rare. Older notes are not changed, which
-- makes them useless.
function field_counts.grow(id, by)
  if fields_of[id] then fields_of[id] = fields_of[id] + by end
end

-- The noted number of fields of a job, and the time of the note. A note serves once.
function field_counts.take(id)
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

return field_counts
