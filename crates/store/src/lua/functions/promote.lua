-- Flags: allow-oom
-- Puts due jobs into their queues, and ids whose hash exists by now; gives up jobs that were never started.
-- ARGV  maximum number of each · '1' if no server called for a while, so that missing hashes get more time, else ''
-- Gives {number of entries handled, next due time, ms, or '', script types that have work …}.
local try, try_named, insist = commands.try, commands.try_named, commands.insist
local read = jobs.end_reader('status', 'script_type', 'group', 'instance', 'priority', 'attempt', 'open')

local function promote(id)
  redis.call('ZREM', keys.scheduled, id)
  local job = read(id)
  if job and job.status == 'scheduled' then
    local script_type = job.script_type or jobs.DEFAULT_TYPE
    local queue = keys.work(script_type, job.group, job.instance, job.priority)
    local status = routing.begin(id, job.attempt or 0, script_type, queue, nil, tonumber(job.open) or 0)
    if status == 'dispatched' then request.has_work(script_type) end
  elseif job and job.status == 'created' then
    ends.fail(id, 0, 'stopped', 'stopped', job)
  end
end

-- Checks an id that came out of a queue before its hash existed. True: it is done.
local function look_for_hash(member, nobody_looked)
  -- An entry from a queue of another layout also names its hash, or '-' if it only waits, and the script type of the
  -- pools that take from that queue.
  local id, queue, hash, other_type = string.match(member, '^(%S+) (%S+) ?(%S*) ?(%S*)$')
  if not id then
    redis.call('ZREM', keys.unwritten, member)
    return false
  end
  local known = hash ~= '-' and try_named('EXISTS', hash ~= '' and hash or keys.job(id)) == 1
  local at = tonumber(redis.call('ZSCORE', keys.unwritten, member))
  -- No entry waits for longer, unless the clock of Redis was set back since.
  local due = at <= request.now or at > request.now + awaited.LONGEST_PAUSE
  if due and not known and hash ~= '-' and nobody_looked then
    -- Its writer may have been delayed as we were.
    insist('ZADD', keys.unwritten, request.now + jobs.HASH_MILLIS, member)
    return false
  elseif not (known or due) then
    return false
  end
  redis.call('ZREM', keys.unwritten, member)
  local script_type = string.match(queue, ':type:([^:]+)')
  if hash == '' then
    if known and script_type and queues.push(queue, script_type, id, true) then request.has_work(script_type) end
  elseif (known or hash == '-') and try_named(known and 'RPUSH' or 'LPUSH', queue, id) then
    redis.call('PUBLISH', keys.wake_up(other_type), request.server)
    request.has_work(other_type)
  end
  return true
end

return function()
  local limit, nobody_looked, handled = request.take_number(), request.take() == '1', 0
  for _, id in ipairs(try('ZRANGEBYSCORE', keys.scheduled, '-inf', request.now, 'LIMIT', 0, limit) or {}) do
    handled = handled + 1
    promote(id)
  end
  for _, member in ipairs(try('ZRANGE', keys.unwritten, 0, limit - 1) or {}) do
    if look_for_hash(member, nobody_looked) then handled = handled + 1 end
  end
  news.send_all()
  local _, next_due = unpack(try('ZRANGE', keys.scheduled, 0, 0, 'WITHSCORES') or {})
  if redis.call('EXISTS', keys.unwritten) == 1 then
    next_due = values.digits(math.min(tonumber(next_due) or math.huge, request.now + jobs.NEXT_LOOK))
  end
  return { handled, next_due or '', unpack(request.types) }
end
