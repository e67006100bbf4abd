-- What a call reports to others: events, counters, and messages to waiting servers.
local try, insist = commands.try, commands.insist
local news = {}

-- Text, as a command gets it: Redis takes long to write a number of Lua.
local MOST_EVENTS = '200000'
local MOST_TYPES, A_DAY = 1000, 86400
-- The time for which counters last without a new change, s.
news.STATS_SECONDS = 2592000

-- Adds to a counter of a script type, which is written at the end of the call.
function news.count(script_type, what, by)
  local of_type = request.counters[script_type]
  if not of_type then
    of_type = {}
    request.counters[script_type] = of_type
  end
  of_type[what] = (of_type[what] or 0) + (by or 1)
end

-- Appends an entry to the stream of events. The first one of a call trims the stream, which is enough.
local function append(...)
  if request.has_events then return try('XADD', keys.events, '*', ...) end
  request.has_events = true
  try('XADD', keys.events, 'MAXLEN', '~', MOST_EVENTS, '*', ...)
end

-- Reports a change of a job.
function news.event(id, status, attempt, kind)
  if kind then
    append('job', id, 'status', status, 'attempt', attempt, 'kind', kind)
  else
    append('job', id, 'status', status, 'attempt', attempt)
  end
end

-- The number of jobs that were created together in one entry.
local MOST_TOGETHER = 100

-- Reports jobs that were created together, with one entry for many of them: an entry costs as much as a short command.
function news.created_together(ids)
  for first = 1, #ids, MOST_TOGETHER do
    local some = table.concat(ids, ' ', first, math.min(first + MOST_TOGETHER - 1, #ids))
    append('jobs', some, 'status', 'created', 'attempt', '0')
  end
end

-- Reports the progress of a running job.
function news.progress(id, attempt, progress) append('job', id, 'status', 'started', 'attempt', attempt, 'progress', progress) end

-- Reports with one entry two changes of a job that starts as it is stored: it was dispatched, and its first attempt
-- started.
function news.event_of_both(id) append('job', id, 'status', 'started', 'attempt', '1', 'dispatched', '1') end

-- Reports with one entry three changes of a job that is stored after its script returned: it was dispatched, its first
-- attempt started, and it finished.
function news.event_of_all(id) append('job', id, 'status', 'finished', 'attempt', '1', 'dispatched', '1', 'started', '1') end

-- Tells listeners that a queue that was empty has a job.
function news.woken(queue, script_type)
  insist('SADD', keys.queues, queue)
  redis.call('PUBLISH', keys.wake_up(script_type), request.server)
end

-- Servers poll what is due each second, so only what is due earlier is announced, ms. A poll may be late.
local SOON = 1200

-- Announces what is due at a time, ms, if that is before the next poll: 'jobs', 'occurrences' or 'flows'. Each call
-- announces the earliest time of each kind, unless a later one came before it.
function news.due(kind, at)
  if at >= request.now + SOON or (request.announced[kind] or math.huge) <= at then return end
  request.announced[kind] = at
  -- An actor in another language may not be allowed to. This is only a hint.
  redis.pcall('PUBLISH', keys.alarm(), kind .. ' ' .. values.digits(at))
end

-- Lets a job wait for a time, ms.
function news.schedule(id, at)
  insist('ZADD', keys.scheduled, at, id)
  news.due('jobs', at)
end

-- Notes which servers wait for a job that ended in this call.
function news.notify(origin, id)
  -- Usually only this server, or nobody.
  if origin == request.server then
    request.own[#request.own + 1] = id
    return
  end
  for waiting in string.gmatch(origin or '', '%S+') do
    if waiting == request.server then
      request.own[#request.own + 1] = id
    else
      local ids = request.notices[waiting]
      if not ids then
        ids = {}
        request.notices[waiting] = ids
      end
      ids[#ids + 1] = id
    end
  end
end

local function tell(server, ids) redis.call('PUBLISH', keys.inbox(server), 'ended ' .. keys.context .. ' ' .. table.concat(ids, ' ')) end

local function write_counters(script_type, counted)
  local key, new = keys.stats(script_type), false
  for what, by in pairs(counted) do
    local is = try('HINCRBY', key, what, by)
    -- A value of a foreign program that is no number is replaced.
    if is == nil then is = insist('HSET', key, what, by) and by end
    new = is == by or new
  end
  -- Foreign programs may invent any type: counters of too many types, or of invalid names, are deleted at once.
  if new and (not values.is_name(script_type)
    or try('SADD', keys.types, key) == 1 and redis.call('SCARD', keys.types) > MOST_TYPES) then
    try('SREM', keys.types, key)
    redis.call('DEL', key)
  elseif (new or request.now % 32 == 0) and redis.call('TTL', key) < news.STATS_SECONDS - A_DAY then
    redis.call('EXPIRE', key, news.STATS_SECONDS)
  end
end

-- Writes the counters of the call and tells other servers of the jobs that they wait for.
function news.send()
  for script_type, counted in pairs(request.counters) do write_counters(script_type, counted) end
  for server, ids in pairs(request.notices) do tell(server, ids) end
  -- A function that does several things in one call tells of each once.
  request.counters, request.notices = request.empty(request.counters), request.empty(request.notices)
end

-- Tells this server of its own waiters, in functions whose answer does not.
function news.tell_own()
  if #request.own > 0 then tell(request.server, request.own) end
  request.own = request.empty(request.own)
end

-- Does what `send` and `tell_own` do.
function news.send_all()
  news.send()
  news.tell_own()
end

return news
