-- Jobs in the arguments of a call that stores them; create.lua describes these arguments.
local incoming = {}

local function take_relations()
  local of = { prerequisite = {}, dependent = {} }
  for _ = 1, request.take_number() do
    local kind, id = request.take(), request.take()
    if of[kind] then of[kind][#of[kind] + 1] = id else of[kind] = id end
  end
  return of
end

-- Reads a job from the arguments. Its fields stay there, from `first` to `last`.
function incoming.take()
  local id, idempotency, digest, output, format, usage = request.take(), nil, nil, nil, nil, nil
  local script_type, queue, actor, new, start, waited, due, keyed, related, returned = unpack(request.take_list(), 1, 10)
  local due_at = due == 'due' and request.take_number() or nil
  if keyed == 'keyed' then idempotency, digest = request.take_many(2) end
  local of = related == 'related' and take_relations() or nil
  if returned == 'returned' then output, format, usage = request.take_many(3) end
  local fields = request.take_number()
  local first = request.at + 1
  request.at = request.at + fields
  return {
    id = id, is_new = new == 'new', starts = start == 'start', is_waited = waited == 'waited', actor = actor ~= '-' and actor or nil,
    due = due_at, script_type = script_type, queue = queue, idempotency = idempotency, digest = digest, relations = of,
    output = output, format = format, usage = usage, first = first, last = request.at, status = nil, written = 0,
  }
end

-- The fields of every new job and those of its caller, each followed by its value.
local function fields_of(job) return jobs.new_fields(job.id, job.script_type, unpack(request.argv, job.first, job.last)) end

-- The same, with the start of its claim numbers if others may have had its id.
local function counted_fields_of(job)
  if job.is_new then return fields_of(job) end
  return 'given_back', jobs.first_claim(), fields_of(job)
end

-- The fields of the hash of a job except those of its status, with the server that waits for it. Nobody blocks on the reply of a job
-- that a server stores.
function incoming.hash_of(job)
  if not job.is_waited then return 'reply', 'none', counted_fields_of(job) end
  return 'origin', request.server, 'reply', 'waited', counted_fields_of(job)
end

return incoming
