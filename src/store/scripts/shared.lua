-- What transitions share; stands between time.lua and the script.
-- ARGV  5 this server   6 seconds to keep a job: finished   7 error   8 finished, for a caller who waited
local server = ARGV[5]

local CRASHES, REPLY_SECONDS, CONTROL_SECONDS, IDEMPOTENCY_SECONDS = 3, 300, 60, 86400

-- Runs a command on a key that outsiders may have spoilt: nil instead of an error that comes from what the key is. Any other, such as that of a
-- slot that moves, or of a right that is missing, ends the script: what cannot be read now is not what is not there.
local function try(...)
  local reply = redis.pcall(...)
  if type(reply) ~= 'table' or not reply.err then return reply end
  local code, text = string.match(reply.err, '^(%u*) ?(.*)$')
  local of_key = code == 'WRONGTYPE' or code == 'ERR'
  -- What Redis 7.0 has no word of its own for.
  for _, other in ipairs(of_key and { 'non local key', 'cluster', 'executing the script' } or {}) do
    if string.find(text, other, 1, true) then of_key = false end
  end
  if not of_key then error(reply) end
  return nil -- And not no value at all, which `tonumber` does not take.
end

-- The same for a key that outsiders named, or the operator: this user of Redis may have no right to it, which is no reason to stop.
local function try_named(...)
  local reply = redis.pcall(...)
  if type(reply) ~= 'table' or not reply.err then return reply end
  return nil
end

-- Writes to a key of ours with a command; what an outsider made of the key gives way.
local function insist(command, key, ...)
  local reply = redis.pcall(command, key, ...)
  if type(reply) ~= 'table' or not reply.err then return reply end
  if string.sub(reply.err, 1, 9) ~= 'WRONGTYPE' then error(reply) end
  redis.call('DEL', key)
  return redis.call(command, key, ...)
end

-- Adds to a number in a hash. What an outsider made of it, so that it is none, counts as 0.
local function increase(key, field, by)
  local value = try('HINCRBY', key, field, by)
  if value then return value end
  try('HSET', key, field, by)
  return by
end

-- Lists jobs in the index of an hour. Who lists its first says that there is one.
local function list_in(index, ...)
  if insist('RPUSH', index, ...) == select('#', ...) then try('SADD', hours_key, index) end
end

-- A number that an outsider may have written, from 0 on.
local function number(text, default)
  local value = tonumber(text)
  if not value or value ~= value or value < 0 or value == math.huge then return default end
  return value
end

-- Which of all times that a job was taken: an attempt that is given back leaves its number to the next, which must not be mistaken for it.
local function claim_of(attempt, given_back)
  local times = tonumber(given_back) or 0
  -- An outsider may have written anything; what is no count is none.
  if not (times >= 0 and times < 2100000000 and times % 1 == 0) then times = 0 end
  return (tonumber(attempt) or 0) + times
end

local function is_final(status) return status == 'finished' or status == 'error' end

-- Milliseconds since 1970 of an RFC 3339 time, or nil.
local function millis(text)
  local y, m, d, h, min, s, fraction, zone = string.match(text or '', '^(%d+)-(%d+)-(%d+)[Tt ](%d+):(%d+):(%d+)(%.?%d*)(.*)$')
  if not y then return nil end
  y, m, d = tonumber(y), tonumber(m), tonumber(d)
  if m <= 2 then y, m = y - 1, m + 12 end
  local days = 365 * y + math.floor(y / 4) - math.floor(y / 100) + math.floor(y / 400) + math.floor((153 * (m - 3) + 2) / 5) + d - 719469
  local sign, zh, zm = string.match(zone, '^([+-])(%d%d):?(%d%d)$')
  local offset = sign and (tonumber(zh) * 60 + tonumber(zm)) * (sign == '-' and -1 or 1) or 0
  return ((days * 24 + h) * 60 + min - offset) * 60000 + s * 1000 + math.floor((tonumber('0' .. fraction) or 0) * 1000)
end

-- Since when a job is in the index of an hour, ms, as these fields of it say; nil where they do not. The first was a mere mark for some of former
-- versions, and may be anything where an outsider wrote it.
local function time_listed(indexed, created_at)
  local at = number(indexed, 0)
  if at >= 1e12 and at <= 1e14 then return at end
  return number(millis(created_at), nil)
end

-- Since when a job is in the index of an hour, ms. Nil: it is in none, because it was only heard of.
local function listed_at(id)
  local of = try('HMGET', job_prefix .. id, 'indexed', 'created_at', 'unseen')
  if not of or of[3] then return nil end
  return time_listed(of[1], of[2]) or now
end

-- Lists a job among those that ended in error. Seldom enough that those are found without looking at all others.
local function list_error(id)
  local at = listed_at(id)
  if at then insist('ZADD', status_key('error'), string.format('%.0f', at), id) end
end

-- Takes back the stops of a job that nobody has read: they meant a run that is over, and the next job of that id is none of theirs.
local function forget_stops(id, script_type, actor, worker)
  try('LREM', control_key(script_type), 0, id)
  local control = actor and control_instance_key(actor)
  if control then try('LREM', control, 0, id) end
  if worker then try('LREM', legacy_stop_key(worker), 0, id) end
end

-- Deletes what jobs that had an id before left for readers.
local function clear_leftovers(id) redis.call('UNLINK', reply_prefix .. id, legacy_reply_key(id), log_key(id)) end

-- The `given_back` of a job whose id others may have had: claims are counted from a number of its own, because a run of theirs may not have ended.
local function first_claim() return string.format('%.0f', now % 2000000000) end

-- Deletes a job with everything that is its own.
local function erase(id)
  redis.call('UNLINK', job_prefix .. id, reply_prefix .. id, log_key(id))
  try('ZREM', status_key('error'), id)
end

-- Whether Redis has little memory left; that is for the ends of jobs.
local function is_nearly_full()
  local info = redis.call('INFO', 'memory')
  local used, most = string.match(info, 'used_memory:(%d+)'), tonumber(string.match(info, 'maxmemory:(%d+)') or 0)
  return most > 0 and tonumber(used) >= 0.9 * most
end

-- Script types that have work again, each once.
local types, types_seen = {}, {}

local function has_work(script_type)
  if script_type and not types_seen[script_type] then
    types_seen[script_type] = true
    types[#types + 1] = script_type
  end
end

local function is_uuid(id)
  return #id == 36 and string.find(id, '^%x+%-%x%x%x%x%-%x%x%x%x%-%x%x%x%x%-%x+$') == 1 and string.byte(id, 9) == 45
end

-- Whether a started job has been given up by whoever started it.
local function is_abandoned(id, started_at, timeout)
  local lease = redis.call('ZSCORE', leases_key, id)
  if lease then return tonumber(lease) <= now end
  -- A foreign actor may have written no more than this; whoever watches the job knows when it is over.
  if redis.call('ZSCORE', watched_key, id) then return false end
  local since = millis(started_at)
  return not since or since + ((tonumber(timeout) or 60) + 30) * 1000 <= now
end

-- Counters, written once at the end by flush().
local counters = {}

local function count(script_type, what, by)
  local of_type = counters[script_type]
  if not of_type then
    of_type = {}
    counters[script_type] = of_type
  end
  of_type[what] = (of_type[what] or 0) + (by or 1)
end

local function event(id, status, attempt, kind)
  if kind then
    try('XADD', events_key, 'MAXLEN', '~', 200000, '*', 'job', id, 'status', status, 'attempt', attempt, 'kind', kind)
  else
    try('XADD', events_key, 'MAXLEN', '~', 200000, '*', 'job', id, 'status', status, 'attempt', attempt)
  end
end

-- Tells who listens that a queue that was empty holds something.
local function woken(queue, script_type)
  insist('SADD', queues_key, queue)
  redis.call('PUBLISH', bell(script_type), server)
end

-- Puts an id into a queue, at the far end or (again) at the taking end, and wakes who listens. False: the key is no list.
local function push(queue, script_type, id, again)
  local length = try(again and 'RPUSH' or 'LPUSH', queue, id)
  if length == 1 then woken(queue, script_type) end
  return length ~= nil
end

-- Has a job that is in a queue looked at again: soon where foreign actors may take it, as from a twin queue.
local calm, CALM, RESTLESS = {}, 5000, 500

local function look_again_at(script_type)
  if calm[script_type] == nil then calm[script_type] = try('SISMEMBER', calm_key, script_type) == 1 end
  return now + (calm[script_type] and CALM or RESTLESS)
end

local function watch(id, script_type, twin) insist('ZADD', watched_key, twin and now + RESTLESS or look_again_at(script_type), id) end

local function watch_all(ids, script_type, twins)
  local time, entries = twins and now + RESTLESS or look_again_at(script_type), {}
  for at, id in ipairs(ids) do entries[2 * at - 1], entries[2 * at] = time, id end
  insist('ZADD', watched_key, unpack(entries))
end

-- Servers with waiters for jobs that ended in this call, and the jobs this server waits for itself.
local notices, own = {}, {}

local function notify(origin, id)
  for waiting in string.gmatch(origin or '', '%S+') do
    if waiting == server then
      own[#own + 1] = id
    else
      local ids = notices[waiting]
      if not ids then
        ids = {}
        notices[waiting] = ids
      end
      ids[#ids + 1] = id
    end
  end
end

local MOST_TYPES, STATS_SECONDS = 1000, 2592000

local function flush()
  for script_type, of_type in pairs(counters) do
    local key, new = stats_key(script_type), false
    for what, by in pairs(of_type) do new = try('HINCRBY', key, what, by) == by or new end
    -- Outsiders may invent any: what is counted of too many, or of no name, is forgotten at once.
    if new and (#script_type > 128 or string.find(script_type, '[^%w_.-]')
      or try('SADD', types_key, key) == 1 and redis.call('SCARD', types_key) > MOST_TYPES) then
      try('SREM', types_key, key)
      redis.call('DEL', key)
    elseif (new or now % 32 == 0) and redis.call('TTL', key) < STATS_SECONDS - 86400 then
      redis.call('EXPIRE', key, STATS_SECONDS)
    end
  end
  for waiting, ids in pairs(notices) do
    redis.call('PUBLISH', inbox(waiting), 'ended ' .. context .. ' ' .. table.concat(ids, ' '))
  end
end

-- The fields that the end of a job needs, in its order.
local END_FIELDS = { 'origin', 'reply', 'reply_to', 'retention', 'idempotency_key', 'script_type', 'reply_to_queue', 'rel', 'dialect' }

-- Those fields, in an answer where they stand from a place on.
local function of_end(answer, from) return { unpack(answer, from, from + #END_FIELDS - 1) } end

-- Seconds to keep a job that has ended.
local function seconds_kept(status, of)
  local retention = tonumber(of[4])
  -- Outsiders may have written anything; what EXPIRE would refuse is nothing.
  if retention and not (retention >= 0 and retention <= 3155760000) then retention = nil end
  local kept = status ~= 'finished' and 7 or of[2] == 'none' and 8 or 6
  local seconds = math.max(math.ceil(retention or tonumber(ARGV[kept])), 1)
  return of[5] and math.max(seconds, IDEMPOTENCY_SECONDS) or seconds
end

-- Has the relatives of a job released that has ended, or was 'deleted' before it did. `rel` is its parent, or '-'.
local releases = 0

local function release(id, status, rel)
  -- An outsider may have written anything.
  if string.find(rel, '%s') or rel == '' then rel = '-' end
  insist('LPUSH', release_key, id .. ' ' .. status .. ' ' .. rel)
  releases = releases + 1
end

-- Ends a job: `text` is its output or its error. The caller has written the other fields of the end; the reply comes last.
-- `replied`: the actor was a foreign one, and has pushed its reply itself.
local function end_job(id, status, attempt, text, kind, logged, of, replied)
  local origin, reply, reply_to = of[1], of[2], of[3] or of[7]
  local seconds, reply_list = seconds_kept(status, of), reply_prefix .. id
  -- One with relations is kept until they are released, which has to know of it.
  if not of[8] then redis.call('EXPIRE', job_prefix .. id, seconds) end
  if logged then redis.call('EXPIRE', log_key(id), seconds) end
  local said = of[9] and mirror(id, of[9], status, text, seconds, replied or reply == 'none')
  if replied then
    if reply == 'none' then try('DEL', reply_list) else try('EXPIRE', reply_list, REPLY_SECONDS) end
  elseif reply ~= 'none' then
    try('LPUSH', reply_list, text)
    try('EXPIRE', reply_list, REPLY_SECONDS)
  end
  -- In a cluster a key of another context may be in reach, and of ours only replies are lists for others.
  local place = reply_to and string.sub(reply_to, 1, #prefix) == prefix and string.sub(reply_to, #prefix + 1) or ''
  if place ~= '' and (string.sub(place, 1, 5) ~= 'hero:' or string.find(place, '^hero:reply:') or string.find(place, '^hero:q:reply:')) then
    local message = said or { job_id = id, status = status }
    message[status == 'finished' and 'output' or 'error'] = text
    -- A list that was there before has an owner; and this user of Redis may have no right to this one.
    if redis.pcall('LPUSH', reply_to, cjson.encode(message)) == 1 then redis.call('EXPIRE', reply_to, REPLY_SECONDS) end
  end
  event(id, status, attempt, kind)
  notify(origin, id)
  if status == 'error' then list_error(id) end
  if of[6] then count(of[6], status) end
  if of[8] then release(id, status, of[8]) end
end

-- When a job ends: now, or when it started, if the clock of Redis was turned back meanwhile.
local function ends_at(started_at)
  local later = started_at and started_at > now_text and string.find(started_at, '^20%d%d%-%d%d%-%d%dT[%d:]+%.%d%d%dZ$')
  return later and started_at or now_text
end

-- Ends a job that did not get an output.
local function fail(id, attempt, kind, text, of)
  -- What is watched when it has ended would count as ended by a foreign actor, too.
  try('ZREM', watched_key, id)
  local ended = ends_at(redis.call('HGET', job_prefix .. id, 'started_at'))
  redis.call('HSET', job_prefix .. id, 'status', 'error', 'lease', '', 'error', text, 'error_kind', kind, 'finished_at', ended,
    'updated_at', ended)
  redis.call('HDEL', job_prefix .. id, 'error_line', 'error_column', 'error_stack', 'error_limit')
  end_job(id, 'error', attempt, text, kind, true, of)
end

-- Counts a death of the actor under a job, and ends the job at the third. True: it has ended.
local function crashed(id, attempt, crashes, script_type, of)
  crashes = (tonumber(crashes) or 0) + 1
  redis.call('HSET', job_prefix .. id, 'crashes', crashes)
  count(script_type, 'crashed')
  if crashes < CRASHES then return false end
  fail(id, attempt, 'crashed', 'the engine or actor died ' .. crashes .. ' times under this job', of)
  return true
end

-- Tells this server of its own waiters, in scripts whose answer does not.
local function tell_own()
  if #own > 0 then redis.call('PUBLISH', inbox(server), 'ended ' .. context .. ' ' .. table.concat(own, ' ')) end
end

-- Puts a job into its queue; where the key is no list, the promoter tries again in a while.
local function enqueue(queue, script_type, id, again)
  local of, twin, only = redis.call('HMGET', job_prefix .. id, 'dialect', 'script_type', 'worker_id'), nil, false
  if of[1] then
    mirror(id, of[1], 'dispatched')
    twin, only = twin_of(id)
  elseif not of[2] and of[3] and of[3] ~= '' then
    -- An outsider's job that names no script type goes to the worker that it names.
    queue = legacy_work_key(of[3])
  end
  local pushed = twin and try('LPUSH', twin, id)
  if not only then pushed = push(queue, script_type, id, again) end
  if pushed then
    watch(id, script_type, twin)
    return 'dispatched'
  end
  redis.call('HSET', job_prefix .. id, 'status', 'scheduled')
  insist('ZADD', scheduled_key, now + 5000, id)
  return 'scheduled'
end

-- Puts a job back where it is taken next.
local function requeue(id, attempt, kind, script_type, group, instance, priority)
  redis.call('HSET', job_prefix .. id, 'status', 'dispatched', 'lease', '', 'attempt', attempt, 'queued_at', now_text, 'updated_at', now_text)
  local status = enqueue(work_key(script_type, group, instance, priority), script_type, id, true)
  event(id, status, attempt, kind)
end

-- Puts a job on its way: to its time (ms) if that is to come, behind those it waits for, or into its queue. Gives its status then.
local function begin(id, attempt, script_type, queue, due, open)
  local key, status = job_prefix .. id, 'waiting_for_prerequisites'
  if due and due > now then
    status = 'scheduled'
    redis.call('HSET', key, 'status', status, 'updated_at', now_text)
    insist('ZADD', scheduled_key, due, id)
  else
    try('ZREM', scheduled_key, id)
    if open > 0 then
      redis.call('HSET', key, 'status', status, 'updated_at', now_text)
    else
      redis.call('HSET', key, 'status', 'dispatched', 'queued_at', now_text, 'updated_at', now_text)
      status = enqueue(queue, script_type, id)
      if status == 'dispatched' then count(script_type, status) end
    end
  end
  event(id, status, attempt)
  return status
end

-- Takes a job that does not run out of everything that would bring it to an actor.
local function withdraw(id, script_type, group, instance, priority)
  local twin = twin_of(id)
  if twin then try('LREM', twin, -1, id) end
  try('ZREM', scheduled_key, id)
  try('ZREM', watched_key, id)
  if script_type then try('LREM', work_key(script_type, group, instance, priority), 1, id) end
end
