-- Calls of functions by other functions, and by actors in other languages.
local calling = {}

-- The time for which jobs ended by an actor in another language are kept, s, as by default: finished, in error,
-- finished for a caller that waited.
calling.KEPT = { '86400', '604800', '3600' }
-- The maximum lease, ms.
local LONGEST_LEASE = 86400000

-- Begins a call of an actor in another language: adds the arguments that our servers send, before its own.
function calling.enter(prefix, context, owner, names, argv)
  local clock = redis.call('TIME')
  local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
  local finished, failed, waited = unpack(calling.KEPT)
  local whole = { { context, owner, finished, failed, waited, prefix }, values.digits(now), time.text(now) }
  for at = 3, #argv do whole[#whole + 1] = argv[at] end
  return request.enter(names, whole)
end

-- The minimum time between two requests for the memory usage, ms.
local ASKED = 100
local is_full, asked_at = false, 0

-- True if Redis refused calls that need memory a moment ago.
function calling.is_full()
  if math.abs(request.now - asked_at) < ASKED then return is_full end
  local used, most = request.memory()
  is_full, asked_at = most > 0 and used > most, request.now
  return is_full
end

-- Calls a function with other arguments, within the same call.
function calling.with(arguments, transition)
  local whole = { unpack(request.argv, 1, request.COMMON) }
  for _, argument in ipairs(arguments) do whole[#whole + 1] = argument end
  request.argv, request.at = whole, request.COMMON
  return transition()
end

-- The id of the job that a key belongs to, or nil.
function calling.job_of(key)
  local id = string.sub(key, 1, #keys.job_prefix) == keys.job_prefix and string.sub(key, #keys.job_prefix + 1)
  return id and values.is_uuid(id) and id or nil
end

-- True if the caller holds a job by this claim. The job was read with its status, attempt, lease and given_back.
function calling.holds(job, claim)
  return job and job.status == 'started' and job.lease == request.server
    and jobs.claim_of(job.attempt, job.given_back) == tonumber(claim)
end

-- A lease from 1 ms to a day, or nil.
function calling.lease_of(text)
  local lease = values.number(text, 0)
  return lease >= 1 and lease <= LONGEST_LEASE and lease or nil
end

-- Records the end of an attempt; `format` and the rest are as in fetch.lua. Nobody says whether the attempt logged, so
-- it counts as logged. Returns the status of the job now, or 'lost'.
function calling.record(id, claim, outcome, format, ...)
  local arguments = { 0, jobs.DEFAULT_TYPE, 1, id, claim, '', { outcome, 'logged', format }, ... }
  -- No actors and no queues: no job is taken.
  for _, rest in ipairs({ {}, {}, {}, '', 0, 0 }) do arguments[#arguments + 1] = rest end
  local statuses = unpack(calling.with(arguments, functions.fetch))
  return unpack(statuses)
end

return calling
