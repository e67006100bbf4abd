-- Takes jobs of other layouts out of their queues and puts them into ours, where they are taken like any other.
-- ARGV  9 script type of the pool   10 how many are wanted   11 number of queues, each: dialect · key   then number of stop queues, each: key
-- Gives {number of elements looked at, script types that have work …}.
local own_type, wanted, at, left_to_look_at = ARGV[9], math.min(tonumber(ARGV[10]), 128), 11, 256
local queues, order = {}, {}
-- Who pauses the queue of a type pauses those that lead to it.
if is_paused(work_key(own_type)) then return { 0 } end
for queue = 1, tonumber(ARGV[at]) do
  queues[queue] = { dialect = ARGV[at + 1], key = ARGV[at + 2], kind = dialect_named(ARGV[at + 1]) }
  at = at + 2
end
local first_stop, stops = at + 2, tonumber(ARGV[at + 1])

-- Ids that somebody wants stopped.
local pending
local function is_to_stop(id)
  if not pending then
    pending = {}
    for stop = first_stop, first_stop + stops - 1 do
      for _, other in ipairs(try('LRANGE', ARGV[stop], 0, 1023) or {}) do pending[other] = ARGV[stop] end
    end
  end
  return pending[id]
end

-- Has an element looked at again: as soon as there is a hash, for 5 s; without one to wait for, in a second.
local function later(queue, element, hash)
  redis.call('ZADD', unwritten_key, 'NX', now + (hash and 5000 or 1000), element .. ' ' .. queue.key .. ' ' .. (hash or '-') .. ' ' .. own_type)
end

-- The id of the job that stands for one with a key of its own. A UUID stays what it is, unless another job has it.
local function id_of(element, key)
  if is_uuid(element) and (redis.call('EXISTS', job_prefix .. element) == 0 or try('HGET', job_prefix .. element, 'dialect_key') == key) then
    return element
  end
  local sum = redis.sha1hex(context .. ' ' .. key)
  return string.format('%s-%s-5%s-8%s-%s', string.sub(sum, 1, 8), string.sub(sum, 9, 12), string.sub(sum, 14, 16), string.sub(sum, 18, 20), string.sub(sum, 21, 32))
end

-- What a job waits for whose prerequisites are keys, or numbers of jobs of the same caller: one that failed, and whether one has not ended.
local function awaited_by(element, list)
  local failed, open
  for word in string.gmatch(list or '', '[%w:]+') do
    local key = string.find(word, '^%d+$') and string.match(element, '^job:%d+:') .. word or word
    if key ~= element and string.find(key, '^job:%d+:%d+$') then
      local status = try('HGET', prefix .. key, 'status')
      if status == 'error' then failed = key
      elseif status ~= 'finished' then open = open or redis.call('EXISTS', prefix .. key) == 1
      end
    end
  end
  return failed, open
end

local function is_name(text) return text and #text <= 128 and string.find(text, '^[%w_.-]+$') end

-- Makes a job of ours of one that the layout keeps in a hash of its own. Gives its id if it may run.
local function translate(queue, element)
  local kind = queue.kind
  local key = prefix .. kind.prefix .. element
  local theirs = try('HMGET', key, 'status', 'script', 'script_type', 'caller_id', 'timeout', 'retries', 'env_vars', 'client_rpc_id', 'created_at',
    'updated_at', 'reply_to_queue', 'reply_to', 'prerequisites')
  if not theirs then return nil end
  if redis.call('EXISTS', key) == 0 then return later(queue, element, key) end
  local word, words, timeout = theirs[1] or '', kind.words, tonumber(theirs[5])
  if not (timeout and timeout > 0) then timeout = nil end
  if word == words.started then
    local since = kind.seconds and (tonumber(theirs[10]) or 0) * 1000 or millis(theirs[10]) or 0
    word = since + ((timeout or 60) + 30) * 1000 <= now and 'stale' or 'running'
  elseif word == '' or word == words.dispatched or word == words.waiting_for_prerequisites then
    word = 'new'
  end

  local id = id_of(element, key)
  local status = try('HGET', job_prefix .. id, 'status')
  if status and not is_final(status) then return id end
  -- Somebody else runs it, or has.
  if word ~= 'new' and word ~= 'stale' then return nil end
  local failed, open
  if kind.element == '^job:%d+:%d+$' then failed, open = awaited_by(element, theirs[13]) end
  if open and not failed then
    try('HSET', key, 'status', words.waiting_for_prerequisites, 'updated_at', string.format('%d', math.floor(now / 1000)))
    return later(queue, element)
  end

  local retries = tonumber(theirs[6])
  local fields = { 'id', id, 'status', 'dispatched', 'dialect', queue.dialect, 'dialect_key', key, 'context_id', context, 'updated_at', now_text, 'queued_at', now_text,
    'created_at', millis(theirs[9]) and theirs[9] or now_text, 'script_type', is_name(theirs[3]) and theirs[3] or own_type,
    'caller_id', theirs[4] or queue.dialect }
  local function add(field, value)
    if value and value ~= '' then fields[#fields + 1], fields[#fields + 2] = field, value end
  end
  add('script', theirs[2])
  add('timeout', timeout)
  add('retries', retries and retries >= 0 and retries <= 255 and theirs[6])
  add('env_vars', theirs[7])
  add('client_rpc_id', theirs[8])
  if kind.named then add('reply_to', theirs[11] or theirs[12]) end
  if status then
    local of = redis.call('HMGET', job_prefix .. id, 'script_type', 'actor', 'worker_id')
    forget_stops(id, of[1] or own_type, of[2], of[3])
  end
  redis.call('UNLINK', job_prefix .. id)
  clear_leftovers(id)
  redis.call('HSET', job_prefix .. id, 'given_back', first_claim(), unpack(fields))
  event(id, 'dispatched', 0)
  count(is_name(theirs[3]) and theirs[3] or own_type, 'created')
  if failed then
    fail(id, 0, 'prerequisite', told_of('prerequisite', failed), redis.call('HMGET', job_prefix .. id, unpack(END_FIELDS)))
    return nil
  end
  return id
end

-- What was followed for jobs of outsiders.
local admits = {}

-- Notes a job that shall go into its queue, if it may run. 'later': too much was followed in this call to see whether it may.
local function consider(id, queue)
  local key = job_prefix .. id
  local job = try('HMGET', key, 'status', 'script_type', 'group', 'instance', 'priority', 'attempt', unpack(END_FIELDS))
  if not job then return end
  local status = (job[1] and job[1] ~= '') and job[1] or 'dispatched'
  if status ~= 'dispatched' and status ~= 'started' then return end
  local twin, only = twin_of(id)
  if twin then
    redis.call('HDEL', key, 'twin', 'twin_only')
    -- It is in our queue already.
    if status == 'dispatched' and not only and redis.call('ZSCORE', watched_key, id) then return end
  end
  if status == 'dispatched' then
    local stop = is_to_stop(id)
    if stop then
      redis.call('ZREM', watched_key, id)
      fail(id, job[6] or 0, 'stopped', 'stopped', of_end(job, 7))
      try('LREM', stop, 0, id)
      return
    end
    if (not redis.call('ZSCORE', watched_key, id) or redis.call('HEXISTS', key, 'unseen') == 1) then
      local admitted = admit(id, nil, admits)
      if not admitted then return admitted == nil and 'later' or nil end
    end
  end
  local script_type = is_name(job[2]) and job[2] or own_type
  order[#order + 1] = { id, work_key(script_type, job[3], job[4], job[5]), script_type, status }
end

local function adopt(queue, element)
  if #element > 128 or not string.find(element, queue.kind.element) then return end
  if queue.kind.words then
    local id = translate(queue, element)
    return id and consider(id, queue)
  elseif is_uuid(element) then
    local key = job_prefix .. element
    if redis.call('EXISTS', key) == 0 then return later(queue, element, key) end
    -- The end replies as the layout asks.
    if try('HSETNX', key, 'dialect', queue.dialect) then return consider(element, queue) end
  end
end

-- One of each queue in turn, so that none waits for another to run empty.
local looked, again = 0, true
while again do
  again = false
  for _, queue in ipairs(queues) do
    local element = #order < wanted and looked < left_to_look_at and try_named('RPOP', queue.key)
    if element then
      looked, again = looked + 1, true
      if adopt(queue, element) == 'later' then
        -- The next call begins with it; where it cannot go back it comes again all the same.
        if not try_named('RPUSH', queue.key, element) then later(queue, element) end
        left_to_look_at = looked
      end
    end
  end
end

-- They go to the taking end, where the last one is taken first.
for place = #order, 1, -1 do
  local id, queue, script_type, status = unpack(order[place])
  if not push(queue, script_type, id, true) then
    redis.call('HSET', job_prefix .. id, 'status', 'scheduled')
    redis.call('ZADD', scheduled_key, now + 5000, id)
  elseif status == 'dispatched' then
    watch(id, script_type)
    count(script_type, 'dispatched')
  end
  has_work(script_type)
end
flush()
tell_own()
return { looked, unpack(types) }
