-- The hash of a job, the keys that belong to it, and the lists that contain it.
local try, insist = commands.try, commands.insist
local jobs = {}

-- The maximum number of crashes of a job; the time for which a reply, a request to stop and an idempotency key are
-- kept, s.
jobs.CRASHES, jobs.REPLY_SECONDS, jobs.CONTROL_SECONDS, jobs.IDEMPOTENCY_SECONDS = 3, 300, 60, 86400
-- The time after a job's time limit at which a foreign actor counts as gone, s; and the limit of a job that has none,
-- s.
jobs.GRACE_SECONDS, jobs.DEFAULT_TIMEOUT_SECONDS = 30, 60
-- The time for which an id waits for its hash, which may come later, ms.
jobs.HASH_MILLIS = 5000
-- The time until the next check while a hash is missing, ms.
jobs.NEXT_LOOK = 200
-- The script type of a job that names none.
jobs.DEFAULT_TYPE = 'osis'

-- The fields of a claimed job that its actor gets, in this order; claimed.rs has the same, and a test compares the two.
-- `created_at` comes first, because it is compared with the note of a job. Fields that a noted job does not have come
-- last.
jobs.GIVEN = {
  'created_at', 'script', 'args', 'env_vars', 'timeout', 'caller_id', 'log_path', 'queued_at', 'concurrent', 'retry_backoff', 'failures',
}

-- The values of a fetched job that come before those of jobs.GIVEN, in the order of fetch.lua.
local OF_THE_CLAIM = { 'actor', 'pinned', 'id', 'attempt', 'claim' }
local fetched = { unpack(OF_THE_CLAIM) }
for _, name in ipairs(jobs.GIVEN) do fetched[#fetched + 1] = name end

-- Names the values of a job in the answer of a fetch.
jobs.name_fetched = values.naming(fetched)

-- The fields of the error of the last attempt: the message, the kind, and then fields that not every error has;
-- codec.rs has the same.
jobs.ERROR = { 'error', 'error_kind', 'error_line', 'error_column', 'error_stack', 'error_limit', 'error_data' }

-- The fields of a job that its end needs.
local OF_END = { 'origin', 'reply', 'reply_to', 'retention', 'idempotency_key', 'script_type', 'reply_to_queue', 'rel', 'dialect' }

-- Returns a function that reads these fields of a job: a table by their names, false where one is missing. Nil: the key
-- is no hash.
function jobs.reader(...)
  local names = { ... }
  local named = values.naming(names)
  return function(id)
    local list = try('HMGET', keys.job(id), unpack(names))
    return list and named(list)
  end
end

-- These names and those that the end of a job needs, each once.
local function with_end(names)
  local all, seen = { unpack(names) }, {}
  for _, name in ipairs(names) do seen[name] = true end
  for _, name in ipairs(OF_END) do
    if not seen[name] then all[#all + 1] = name end
  end
  return all
end

-- Returns a function that reads these fields of a job and those that its end needs.
function jobs.end_reader(...) return jobs.reader(unpack(with_end({ ... }))) end

jobs.read_for_end = jobs.end_reader()

-- The fields that are read when a run ends, of any job and of a noted one.
local RUN = with_end({ 'status', 'attempt', 'lease', 'failures', 'given_back', 'started_at' })
local read_run, read_noted_run = jobs.reader(unpack(RUN)), jobs.reader(unpack(field_counts.usual(RUN)))

-- Reads a job whose run ended. Nil: the key is no hash.
function jobs.read_run(id)
  local _, since = field_counts.take(id)
  local job = since and read_noted_run(id)
  if job and job.started_at == since then return job end
  return read_run(id)
end

-- The fields that decide whether a queued job may run.
local DECIDING = { 'status', 'script_type', 'attempt', 'stop_requested_at', 'unseen', 'dialect', 'given_back', 'released' }

-- Returns a function that reads deciding fields by their names (`job`), and fields for the actor from `first_given` on
-- in `list`.
local function waiting_reader(deciding, given)
  local names, named = { unpack(deciding) }, values.naming(deciding)
  for _, name in ipairs(given) do names[#names + 1] = name end
  return function(id)
    local list = try('HMGET', keys.job(id), unpack(names))
    return list and { job = named(list), list = list, first_given = #deciding + 1 }
  end
end

local read_waiting = waiting_reader(DECIDING, jobs.GIVEN)
local read_noted_waiting = waiting_reader(field_counts.usual(DECIDING), field_counts.usual(jobs.GIVEN))

-- Reads a queued job in this way, and the number of its `fields` if it was noted. Nil: the key is no hash.
function jobs.read_waiting(id)
  local fields, since = field_counts.take(id)
  local one = since and read_noted_waiting(id)
  -- The note of a job that ran was made at its start, and does not hold for a waiting one.
  local still_waits = one and one.list[one.first_given] == since and one.job.status == 'dispatched' and not one.job.attempt
  if not still_waits then return read_waiting(id) end
  for at = #one.list + 1, one.first_given + #jobs.GIVEN - 1 do one.list[at] = false end
  one.fields = fields
  return one
end

-- The fields of a new job, each followed by its value: first those that the legacy layout has in each job, even empty,
-- and then the given ones, which override them. The server sends `caller_id` and `timeout`, even empty, and no other
-- fields that would be equal.
function jobs.new_fields(id, script_type, ...)
  return 'script_type', script_type, 'updated_at', request.now_text, 'id', id, 'created_at', request.now_text, 'worker_id', script_type,
    'context_id', keys.context, 'retries', '0', 'concurrent', 'false', 'log_path', '', 'env_vars', '{}',
    'prerequisites', '[]', 'dependencies', '[]', 'dependents', '[]', ...
end

-- True if nobody blocks on the list with the reply of a job: a server has stored it, 'waited' for a caller that waits for its end.
function jobs.wants_no_reply(job) return job.reply == 'none' or job.reply == 'waited' end

function jobs.status(id) return try('HGET', keys.job(id), 'status') end

function jobs.exists(id) return redis.call('EXISTS', keys.job(id)) == 1 end

-- True if there is a job with an id. A key of another type is no job: old layouts have lists with such names.
function jobs.is_job(id) return values.is_uuid(id) and redis.call('TYPE', keys.job(id)).ok == 'hash' end

-- True if the end of a job was written without the server that was to report it.
function jobs.is_unsettled(id) return try('ZSCORE', keys.watched, id) or try('ZSCORE', keys.leases, id) end

-- The number of the claim. A requeued attempt leaves its number to the next one, and the two must not be confused.
function jobs.claim_of(attempt, given_back)
  local times = tonumber(given_back) or 0
  -- A foreign program may have written anything. A value that is no count is ignored.
  if not (times >= 0 and times < 2100000000 and times % 1 == 0) then times = 0 end
  return (tonumber(attempt) or 0) + times
end

-- The `given_back` of a job whose id others may have had. Its claims are counted from a different number, because a run
-- of the others may not have ended.
function jobs.first_claim() return values.digits(request.now % 2000000000) end

-- True if a started job has been given up by its starter.
function jobs.is_abandoned(id, started_at, timeout)
  local lease = try('ZSCORE', keys.leases, id)
  if lease then return leases.over_at(tonumber(lease)) <= request.now end
  -- A foreign actor may have written only this much. The watch of the job knows when it has timed out.
  if try('ZSCORE', keys.watched, id) then return false end
  local since = time.millis(started_at)
  return not since or since + ((tonumber(timeout) or jobs.DEFAULT_TIMEOUT_SECONDS) + jobs.GRACE_SECONDS) * 1000 <= request.now
end

-- Lists jobs in the index of an hour. The first entry also notes that the index exists.
function jobs.list_in(index, ...)
  if insist('RPUSH', index, ...) == select('#', ...) then try('SADD', keys.hours, index) end
end

-- Notes the difference between a time of a job and the time of its index, ms; negative: it is behind.
function jobs.note_offset(list, off)
  local ahead, behind = string.match(try('HGET', keys.time_offsets, list) or '', '^(%d+) (%d+)$')
  ahead, behind = tonumber(ahead or 0), tonumber(behind or 0)
  if off > ahead or -off > behind then
    insist('HSET', keys.time_offsets, list, string.format('%.0f %.0f', math.max(ahead, off), math.max(behind, -off)))
  end
end

-- The number of the newest ids of an hour among which an id to remove is searched.
local LOOKED_AMONG = 4096

-- Removes a deleted job from the index of its hour, so that the next job with its id is there once. It stays if there
-- are many newer ones, because searching for it would take long.
function jobs.unlist(id, created_at)
  local list = keys.index(created_at)
  if try('LPOS', list, id, 'RANK', -1, 'MAXLEN', LOOKED_AMONG) then try('LREM', list, -1, id) end
end

-- The time since when a job is in the index of an hour, ms, from these fields; nil if they do not say. In older
-- versions the first field was a mere mark for some jobs, and it may be anything if a foreign program wrote it.
function jobs.time_listed(indexed, created_at)
  local at = values.number(indexed, 0)
  if at >= 1e12 and at <= 1e14 then return at end
  return values.number(time.millis(created_at), nil)
end

local read_listing = jobs.reader('indexed', 'created_at', 'unseen')

-- The time since when a job is in the index of an hour, ms. Nil: it is in none, because it is only known from others.
function jobs.listed_at(id)
  local job = read_listing(id)
  if not job or job.unseen then return nil end
  return jobs.time_listed(job.indexed, job.created_at) or request.now
end

-- Lists a job among those that ended in error. These are few, so they are found without reading all others.
function jobs.list_error(id)
  local at = jobs.listed_at(id)
  if at then insist('ZADD', keys.index_of_status('error'), values.digits(at), id) end
end

-- Removes requests to stop a job that nobody has read: they meant a run that is over, and must not stop the next job
-- with that id.
function jobs.forget_stops(id, script_type, actor, worker)
  commands.remove_all(keys.control(script_type), id)
  local control = actor and keys.control_instance(actor)
  if control then commands.remove_all(control, id) end
  if worker then commands.remove_all(keys.stop_queue(worker), id) end
end

-- Deletes the keys that former jobs with an id left for readers.
function jobs.clear_leftovers(id) redis.call('UNLINK', keys.reply(id), keys.legacy_reply(id), keys.log(id)) end

return jobs
