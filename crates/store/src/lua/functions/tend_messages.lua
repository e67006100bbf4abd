-- Flags: allow-oom
-- Handles messages: answers for jobs that came with a message and have ended, ends expired messages, wherever they are,
-- and takes messages from `msg_out` for a node.
-- ARGV  node · maximum number of messages that it has in hand
-- Gives {1 if something happened, number of jobs that are still to be answered, length of `msg_in`, number of messages that follow whose
--       stop the node has to tell the other side, those, the elements that the node has in hand …}.
local try, insist = commands.try, commands.insist

-- The time for which a node may be silent before others send its messages, ms.
local SILENT = 10000
-- The number of nodes, ended jobs, jobs to check, and expired messages that a call handles.
local MOST_NODES, MOST_RESULTS, MOST_LOOKED_AT, MOST_OVER = 4, 64, 64, 64
-- The time between two checks of a job that another program may run, ms; and the number of elements without a message
-- that a call skips.
local CHECK_INTERVAL_MILLIS, MOST_PASSED_OVER = 1000, 1000
-- The maximum time until a check, ms.
local LONGEST_LOOK = 5 * CHECK_INTERVAL_MILLIS
-- The highest number.
local LAST = 4294967295

local read_job = jobs.reader('status', 'output', 'output_format', 'error', 'error_kind', 'error_line', 'error_column')

-- A line or column, if one was written.
local function place(text)
  local number = values.number(text or nil, nil)
  return number and math.min(math.floor(number), LAST) or nil
end

-- The end of a job, as its result message reports it. `id`: that of our job, if it ran here.
local function ending(theirs, id)
  local job = id and read_job(id)
  if job and values.is_final(job.status) then
    if job.status == 'finished' then return { status = 'finished', output = job.output or '', format = job.output_format or nil } end
    return {
      status = 'error', error = job.error or '', kind = job.error_kind or nil, line = place(job.error_line),
      column = place(job.error_column),
    }
  end
  local read, result = pcall(cjson.decode, theirs.result or '{}')
  if not read or type(result) ~= 'table' then result = {} end
  local function text(value) return type(value) == 'string' and value or value ~= nil and values.json(value) or '' end
  if theirs.status == 'finished' then return { status = 'finished', output = text(result.output) } end
  return { status = 'error', error = text(result.error) }
end

local named = values.naming({ 'status', 'message', 'origin_id', 'caller_id', 'result' })
local THEIRS = { 'status', 'message', 'origin_id', 'caller_id', 'result' }

-- Stores the message with the result of a job. Returns false if there is no number left for it.
local function send_result(name, id, theirs, came)
  local nonce, sender_id, address, context, topic, node = unpack(came)
  local said = ending(theirs, id)
  said.job = values.number(theirs.origin_id or nil, nil)
  local caller = string.match(theirs.message, '^message:(%d+):')
  local element = messages.send(caller, 'message', cjson.encode(said), 'message_type', 'result', 'message_format_type', 'text',
    'timeout', '86400', 'timeout_ack', '86400', 'timeout_result', '0', 'job', '[]', 'target_context', context or '0', 'topic', topic or '',
    'address', address, 'in_reply_to', nonce, 'answers', sender_id or '0',
    'to', node or '', 'nonce', string.sub(redis.sha1hex(nonce .. ' ' .. name), 1, 32))
  return element ~= nil
end

-- Answers a job that came with a message. Returns whether it has been answered now; nil: it has ended, and cannot be
-- answered now.
local function answer(name, id)
  local key = keys.prefix .. name
  local list = string.find(name, '^job:%d+:%d+$') and try('HMGET', key, unpack(THEIRS))
  local theirs = list and named(list)
  if not theirs or not messages.is_element(theirs.message or nil) then
    try('ZREM', keys.answers, name)
    return false
  end
  if not values.is_final(theirs.status or nil) then return false end
  local of_message = messages.key(theirs.message)
  local came = try('HMGET', of_message, 'nonce', 'sender_id', 'reply_address', 'reply_context', 'topic', 'reply_node') or {}
  -- Without an address nobody waits for it: another program put the message there.
  if came[1] and came[3] and not send_result(name, id, theirs, came) then return nil end
  try('ZREM', keys.answers, name)
  redis.call('HDEL', key, 'message')
  if redis.call('EXISTS', of_message) == 1 then messages.set_status(of_message, 'processed') end
  return true
end

-- Answers jobs that have ended, while there is room for outgoing messages.
local function answer_jobs()
  local answered, room = false, messages.MOST_OUT + messages.MOST_ANSWERS - messages.waiting()
  for _, entry in ipairs(room > 0 and try('RPOP', keys.results, math.min(MOST_RESULTS, room)) or {}) do
    local name, id = string.match(entry, '^(%S+) (%S+)$')
    local done = name and answer(name, id)
    if done then answered, room = true, room - 1 end
    -- The next call begins with it.
    if name and done == nil then redis.call('RPUSH', keys.results, entry) end
  end
  for _, name in ipairs(request.due(keys.answers, LONGEST_LOOK, MOST_LOOKED_AT)) do
    insist('ZADD', keys.answers, 'XX', values.digits(request.now + CHECK_INTERVAL_MILLIS), name)
    if room > 0 and answer(name) then answered, room = true, room - 1 end
  end
  return answered
end

-- Ends messages without a result in time.
local function end_open()
  local over = try('ZRANGEBYSCORE', keys.open_messages, '-inf', request.now, 'LIMIT', 0, MOST_OVER) or {}
  for _, element in ipairs(over) do
    local seconds = try('HGET', messages.key(element), 'timeout_result') or '?'
    messages.fail(element, 'timeout', 'no result came within ' .. seconds .. ' s (timeout_result)')
  end
  return #over > 0
end

-- Makes messages be sent whose nodes have been silent for long.
local function adopt(node)
  -- A node with a sign in the future was heard before the clock of Redis was set back: its silence counts from now on.
  for _, other in ipairs(redis.call('ZRANGEBYSCORE', keys.nodes, '(' .. request.digits_in(1000), '+inf', 'LIMIT', 0, MOST_NODES)) do
    redis.call('ZADD', keys.nodes, 'XX', values.digits(request.now), other)
  end
  for _, other in ipairs(redis.call('ZRANGEBYSCORE', keys.nodes, '-inf', request.now - SILENT, 'LIMIT', 0, MOST_NODES)) do
    if other ~= node then
      local list = keys.sending(other)
      for _ = 1, messages.MOST_OUT do
        if not try('LMOVE', list, keys.msg_out, 'LEFT', 'RIGHT') then break end
      end
      redis.call('ZREM', keys.nodes, other)
    end
  end
end

-- Removes elements without a message from the hand of a node: a foreign program put them there, or their message is
-- gone. Returns whether there were any.
local function clean(list, most)
  local found = false
  for _, element in ipairs(try('LRANGE', list, 0, most - 1) or {}) do
    if not messages.is_there(element) then
      redis.call('LREM', list, 1, element)
      found = true
    end
  end
  return found
end

-- Puts an element into the hand of a node, if it is the name of a message.
local function put_in_hand(list, element)
  if not messages.is_there(element) then return false end
  local key = messages.key(element)
  -- Another program has written it.
  if redis.call('TTL', key) == -1 then
    messages.keep(key)
    messages.list(element, 'dispatched')
  end
  unsent.note(element)
  redis.call('LPUSH', list, element)
  return true
end

-- The share of the room for messages that rested ones get: half. An odd place goes to the message that has waited
-- longer.
local function share_of_rested(free)
  local half = math.floor(free / 2)
  if free % 2 == 0 then return half end
  local _, due = unpack(try('ZRANGE', keys.resting, 0, 0, 'WITHSCORES') or {})
  local other = due and try('LINDEX', keys.msg_out, -1)
  if not other then return half + 1 end
  local since = messages.is_element(other) and try('HGET', messages.key(other), 'created_at') or nil
  return values.number(since, 0) * 1000 < tonumber(due) and half or half + 1
end

-- Takes messages into the hand of a node: rested ones, and others, so that neither block the others. Returns whether
-- there were any.
local function take(list, free)
  local taken = false
  local rested = free > 0 and request.due(keys.resting, messages.LONGEST_REST, share_of_rested(free)) or {}
  for _, element in ipairs(rested) do
    redis.call('ZREM', keys.resting, element)
    if put_in_hand(list, element) then free, taken = free - 1, true end
  end
  for _ = 1, MOST_PASSED_OVER do
    local element = free > 0 and try('RPOP', keys.msg_out)
    if not element then break end
    if put_in_hand(list, element) then free, taken = free - 1, true end
  end
  return taken
end

return function()
  local node, most = request.take(), request.take_number()
  local answered = answer_jobs()
  local ended = end_open()
  ended = unsent.end_some() or ended
  insist('ZADD', keys.nodes, request.now, node)
  adopt(node)
  local list = keys.sending(node)
  local length = try('LLEN', list)
  -- A key of another type, which a foreign program made, is deleted.
  if not length then redis.call('DEL', list) end
  local cleaned = length and clean(list, most)
  local taken = take(list, most - (try('LLEN', list) or 0))
  local came = try('LLEN', keys.msg_in) or 0
  local moved, gives = answered or ended or cleaned or taken, messages.take_stops()
  table.insert(gives, 1, #gives)
  for _, element in ipairs(try('LRANGE', list, 0, most - 1) or {}) do gives[#gives + 1] = element end
  return { moved and 1 or 0, try('ZCARD', keys.answers) or 0, came, unpack(gives) }
end
