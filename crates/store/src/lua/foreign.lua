-- Jobs that foreign programs wrote, put into queues, or ran.
local try = commands.try
local foreign = {}

-- The number of relations that are followed to see whether a foreign job would wait for itself.
local FOLLOWED = 500
-- The number of relations that are followed for all foreign jobs of a call.
local FOLLOWED_IN_ALL = 1000
-- The maximum difference between the time that a foreign job says and the time at which it came into the index, ms,
-- that is not noted.
local NEAR = 1000
-- A larger difference counts as this one, ms.
local FAR = 1e14
-- The number of ids of an hour that are searched for one of ours.
local LOOKED_THROUGH = 20000
-- The wait before the first retry of a job that says none, s.
local DEFAULT_BACKOFF = 1
-- The maximum wait before a retry, s.
local LONGEST_BACKOFF = 300
-- The maximum number of times that the wait is doubled.
local MOST_DOUBLINGS = 20

local read_marks = jobs.reader('indexed', 'lease', 'open', 'unseen')

-- True if a job was created here or discovered before: it is in one of these sets, or has the mark of a transition. A
-- key of another type also counts as known, so that it is not discovered.
function foreign.is_known(id)
  local job = read_marks(id)
  if not job then return true end
  if job.indexed or job.lease or job.open or job.unseen then return not job.unseen end
  return redis.call('ZSCORE', keys.watched, id) or redis.call('ZSCORE', keys.scheduled, id) or redis.call('ZSCORE', keys.leases, id)
end

-- Makes a job wait that a foreign program put into a queue, if it has open relations. False: it does not run now.
local function make_wait(id, open, attempt)
  if open <= 0 then return true end
  redis.call('HSET', keys.job(id), 'status', 'waiting_for_prerequisites', 'open', open, 'updated_at', request.now_text)
  news.event(id, 'waiting_for_prerequisites', attempt)
  return false
end

-- The jobs that would wait for each other, as `cycles.find` returns them. `walk` is shared by all such jobs of this
-- call. False: it has no room for this job.
local function cycle_of(id, of, walk)
  walk.for_all = walk.for_all or FOLLOWED_IN_ALL
  -- If the walk has met this job before, there may be a new way from it now.
  if walk.done and (walk.done['start ' .. id] or walk.done['close ' .. id]) then walk.done = nil end
  local most = math.min(walk.for_all, FOLLOWED)
  walk.left = most
  local cycle = cycles.find({ [id] = of }, walk, true)
  walk.for_all = math.max(walk.for_all - most + walk.left, 0)
  -- It may have stopped half-way up.
  if cycle == true then walk.climbed = nil end
  if cycle == true and most < FOLLOWED then return false end
  return cycle
end

-- The time since when a job of ours is in the index, ms; nil for a job of a foreign program. A call that broke off may
-- have left one of ours in none of the sets, and it is then found like a foreign one.
local function own_listing(id, created_at)
  local at = created_at and try('HEXISTS', keys.job(id), 'queued_at') == 1 and time.millis(created_at)
  local list = at and keys.index(created_at)
  for _, part in ipairs(at and { list, index.front_of(list) } or {}) do
    if try('LPOS', part, id, 'RANK', -1, 'MAXLEN', LOOKED_THROUGH) then return at end
  end
end

-- Puts a foreign job into the index. The time that it says may differ; the differences of an hour are noted, because
-- lists of a time have to look that much further.
function foreign.list(id, created_at)
  local list = keys.index(request.now_text)
  local own = own_listing(id, created_at)
  redis.call('HSET', keys.job(id), 'indexed', values.digits(own or request.now))
  if own then return end
  jobs.list_in(list, id)
  local off = created_at and math.max(-FAR, math.min((time.millis(created_at) or request.now) - request.now, FAR)) or 0
  if math.abs(off) > NEAR then jobs.note_offset(list, off) end
end

local read_admitted = jobs.end_reader('indexed', 'linked', 'prerequisites', 'dependencies', 'predecessor_id', 'parent_id', 'attempt',
  'open', 'finished_at', 'created_at')

-- Admits a foreign job, or one that a foreign program put into a queue (nil: it is in none). False: its relations keep
-- it from running now. Nil: `walk`, in which the call notes the relations that it followed for such jobs, has no room
-- for it; nothing was done, and it comes again.
function foreign.admit(id, queue, walk)
  local key, job = keys.job(id), read_admitted(id)
  local attempt = job.attempt or 0
  local function named(other) return other and other ~= '' and other ~= id and other or nil end
  local predecessor, parent = named(job.predecessor_id), named(job.parent_id)
  local others = job.linked and {} or relations.foreign_prerequisites(job.prerequisites, job.dependencies)
  local unreadable = not others
  others = others or {}
  local related, cycle = not job.linked and (unreadable or #others > 0 or predecessor or parent), nil
  if related then
    local of = { prerequisite = others, dependent = {}, parent = parent, predecessor = predecessor }
    cycle = #others > FOLLOWED or cycle_of(id, of, walk)
    if cycle == false then return nil end
  end
  if not job.indexed then foreign.list(id, job.created_at) end
  -- The queue decides which actors may run it. It goes back there if it is requeued.
  local group, instance = string.match(queue or '', ':group:([^:]+)'), string.match(queue or '', ':inst:(%d+)')
  local script_type = string.match(queue or '', ':type:([%w_.-]+)')
  if script_type then redis.call('HSETNX', key, 'script_type', script_type) end
  if group then redis.call('HSETNX', key, 'group', group) end
  if instance then redis.call('HSETNX', key, 'instance', instance) end
  redis.call('HDEL', key, 'unseen')
  if job.linked then
    -- A job that has ended before waits for nothing any more, because nothing would release it.
    local open = job.finished_at and 0 or tonumber(job.open) or 0
    -- It was created here and started by a foreign program.
    if parent and job.rel ~= parent then open = open + relations.link_parent(id, parent) end
    return make_wait(id, open, attempt)
  end
  if not related then return true end
  redis.call('HSET', key, 'linked', '1')
  relations.note_change()
  local function end_it(text)
    ends.fail(id, attempt, 'prerequisite', text, job)
    return false
  end
  if unreadable then return end_it('its prerequisites or dependencies cannot be read: a JSON list of job ids is expected') end
  for at = 1, math.min(#others, FOLLOWED) do
    if not jobs.is_job(others[at]) then return end_it('prerequisite ' .. others[at] .. ' does not exist') end
  end
  if type(cycle) == 'table' then return end_it('it would wait for itself, through job ' .. cycle[1]) end
  if cycle then return end_it('it has too many relations to tell whether it would wait for itself') end
  local open, failed = relations.link_prerequisites(id, others)
  if failed then
    redis.call('HSET', key, 'open', open)
    return end_it(relations.told_of('prerequisite', failed))
  end
  if predecessor then open = open + relations.link_predecessor(id, predecessor) end
  if parent then open = open + relations.link_parent(id, parent) end
  return make_wait(id, open, attempt)
end

-- The wait of a job before its next retry, ms: after the first failure its `retry_backoff`, then twice as long each
-- time, plus or minus a quarter; `chance` is from 0 to 1. The same as in crates/model/src/retry.rs; a test compares the
-- two.
function foreign.backoff(retry_backoff, failures, chance)
  local first = values.number(retry_backoff, DEFAULT_BACKOFF)
  local seconds = math.min(first * 2 ^ math.min(failures - 1, MOST_DOUBLINGS), math.max(first, LONGEST_BACKOFF))
  return math.floor(seconds * (0.75 + 0.5 * chance) * 1000)
end

-- A number from 0 to 1 that differs for each failure of each job. Redis functions have no random numbers of their own.
local function chance_of(id, failures) return tonumber(string.sub(redis.sha1hex(id .. failures), 1, 4), 16) / 65535 end

local read_refused = jobs.reader('status', 'script')

-- Ends a job that a foreign program pushed under an id that is no UUID, so that its waiters learn the reason.
function foreign.refuse_id(id)
  local job = values.is_name(id) and read_refused(id)
  if not job or not job.script or job.status and job.status ~= 'dispatched' and job.status ~= '' then return end
  local key, text = keys.job(id), 'the id of a job is a UUID, such as 6f1c4d1e-8f5b-4c7e-9d0a-2b3c4d5e6f70'
  redis.call('HSET', key, 'status', 'error', 'error', text, 'error_kind', 'script', 'finished_at', request.now_text,
    'updated_at', request.now_text)
  if redis.call('TTL', key) == -1 then redis.call('EXPIRE', key, math.ceil(tonumber(request.keep_error))) end
  for _, list in ipairs({ keys.reply(id), keys.legacy_reply(id) }) do
    if try('LPUSH', list, text) then redis.call('EXPIRE', list, jobs.REPLY_SECONDS) end
  end
end

local read_backoff = jobs.reader('retry_backoff', 'failures')

-- The wait of a job before its next attempt if it fails now, ms.
function foreign.next_backoff(id)
  local job = read_backoff(id) or {}
  local failures = values.number(job.failures, 0) + 1
  return foreign.backoff(job.retry_backoff, failures, chance_of(id, failures))
end

local read_ended = jobs.end_reader('attempt', 'failures', 'retries', 'retry_backoff', 'error', 'output', 'stop_requested_at', 'seen_at',
  'finished_at', 'started_at', 'group', 'instance', 'priority')

-- Handles an end that a foreign actor wrote: applies retries and everything that follows an end. Returns the status
-- after that.
function foreign.settle(id, status)
  local key = keys.job(id)
  redis.call('ZREM', keys.watched, id)
  local counted = redis.call('ZREM', keys.leases, id) == 1
  local job = read_ended(id)
  local attempt, ended = tonumber(job.attempt) or 0, job.finished_at or request.now_text
  -- No server saw it run, because it was so quick.
  if not job.seen_at and not counted then
    attempt = attempt + 1
    if redis.call('HDEL', key, 'released') == 0 and job.script_type then news.count(job.script_type, 'started') end
  end
  -- It was seen to run later than that: the clock of its actor is slow.
  if (time.millis(ended) or request.now) < (time.millis(job.started_at) or 0) then ended = ends.ends_at(job.started_at) end
  redis.call('HDEL', key, 'seen_at', 'missing_at')
  if job.dialect == 'legacy' then
    -- It may have been taken from its shadow queue.
    commands.remove(keys.work(job.script_type or jobs.DEFAULT_TYPE, job.group, job.instance, job.priority), id, 1)
  end
  if status == 'finished' then
    redis.call('HSET', key, 'attempt', attempt, 'lease', '', 'finished_at', ended, 'updated_at', request.now_text)
    ends.end_job(id, status, attempt, job.output or '', nil, true, job, true)
    return status
  end
  local text, failures = job.error or '', (tonumber(job.failures) or 0) + 1
  local kind = text == 'timeout' and 'timeout' or (text == 'stopped' or text == 'stopped_by_request') and 'stopped' or 'script'
  if kind ~= 'stopped' and not job.stop_requested_at and failures <= values.retries(job.retries) then
    news.schedule(id, request.now + foreign.backoff(job.retry_backoff, failures, chance_of(id, failures)))
    redis.call('HSET', key, 'status', 'scheduled', 'attempt', attempt, 'lease', '', 'failures', failures, 'error_kind', kind,
      'updated_at', request.now_text)
    attempts.keep(id, attempt, 'error')
    if job.dialect then layouts.mirror(id, job.dialect, 'scheduled') end
    news.event(id, 'scheduled', attempt, kind)
    news.count(job.script_type or jobs.DEFAULT_TYPE, 'retried')
    return 'scheduled'
  end
  redis.call('HSET', key, 'attempt', attempt, 'lease', '', 'failures', failures, 'error_kind', kind, 'finished_at', ended,
    'updated_at', request.now_text)
  ends.end_job(id, 'error', attempt, text, kind, true, job, true)
  return 'error'
end

return foreign
