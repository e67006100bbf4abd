-- Flags: allow-oom
-- Brings messages on: answers for jobs that came by a message and have ended, ends messages whose time is over, and takes messages out of
-- `msg_out` for a node.
-- ARGV  node · how many messages it has in hand at most
-- Gives {1 if something happened, number of jobs that are still to be answered, length of `msg_in`, the elements that the node has in
--       hand …}.
local try, insist = commands.try, commands.insist

-- How long a node may be silent before others send its messages, ms.
local SILENT = 30000
-- How many nodes, ended jobs, jobs to look at, and messages whose time is over are dealt with in a call.
local MOST_NODES, MOST_RESULTS, MOST_LOOKED_AT, MOST_OVER = 4, 64, 64, 64
-- How often a job is looked at that another program may run, ms; and how many elements that are no messages are passed over in a call.
local LOOK, MOST_PASSED_OVER = 1000, 1000
-- The greatest number.
local LAST = 4294967295

local read_job = jobs.reader('status', 'output', 'output_format', 'error', 'error_kind', 'error_line', 'error_column')

-- How a job ended, as its result message says it. `id`: that of ours, if it ran here.
local function ending(theirs, id)
  local job = id and read_job(id)
  if job and values.is_final(job.status) then
    if job.status == 'finished' then return { status = 'finished', output = job.output or '', format = job.output_format or nil } end
    return {
      status = 'error', error = job.error or '', kind = job.error_kind or nil, line = job.error_line and tonumber(job.error_line) or nil,
      column = job.error_column and tonumber(job.error_column) or nil,
    }
  end
  local read, result = pcall(cjson.decode, theirs.result or '{}')
  if not read or type(result) ~= 'table' then result = {} end
  local function text(value) return type(value) == 'string' and value or value ~= nil and cjson.encode(value) or '' end
  if theirs.status == 'finished' then return { status = 'finished', output = text(result.output) } end
  return { status = 'error', error = text(result.error) }
end

local named = values.naming({ 'status', 'message', 'origin_id', 'caller_id', 'result' })
local THEIRS = { 'status', 'message', 'origin_id', 'caller_id', 'result' }

-- Answers for a job that came by a message. Gives whether it has been answered for now.
local function answer(name, id)
  local key = keys.prefix .. name
  local list = string.find(name, '^job:%d+:%d+$') and try('HMGET', key, unpack(THEIRS))
  local theirs = list and named(list)
  if not theirs or not messages.is_element(theirs.message or nil) then
    try('ZREM', keys.answers, name)
    return false
  end
  if not values.is_final(theirs.status or nil) then return false end
  local came = try('HMGET', messages.key(theirs.message), 'nonce', 'sender_id', 'caller_id', 'reply_address', 'reply_context', 'topic')
  local nonce, sender_id, caller, address, context, topic = unpack(came or {})
  try('ZREM', keys.answers, name)
  redis.call('HDEL', key, 'message')
  messages.set_status(messages.key(theirs.message), 'processed')
  -- Nobody waits for it: another program put the message there.
  if not address or not nonce then return true end
  local said = ending(theirs, id)
  said.job = tonumber(theirs.origin_id)
  messages.send(caller, 'message', cjson.encode(said), 'message_type', 'result', 'message_format_type', 'text', 'timeout', '86400',
    'timeout_ack', '86400', 'timeout_result', '0', 'job', '[]', 'target_context', context or '0', 'topic', topic or '', 'address', address,
    'in_reply_to', nonce, 'answers', sender_id or '0', 'nonce', string.sub(redis.sha1hex(nonce .. ' ' .. name), 1, 32))
  return true
end

local function answer_jobs()
  local answered = false
  for _, entry in ipairs(try('RPOP', keys.results, MOST_RESULTS) or {}) do
    local name, id = string.match(entry, '^(%S+) (%S+)$')
    if name and answer(name, id) then answered = true end
  end
  for _, name in ipairs(try('ZRANGEBYSCORE', keys.answers, '-inf', request.now, 'LIMIT', 0, MOST_LOOKED_AT) or {}) do
    insist('ZADD', keys.answers, 'XX', values.digits(request.now + LOOK), name)
    if answer(name) then answered = true end
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

-- Has the messages of nodes sent that have been silent for long.
local function adopt(node)
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

-- Puts an element into the hand of a node, if it is the name of a message.
local function put_in_hand(list, element)
  local key = messages.is_element(element) and messages.key(element)
  if not key or redis.call('TYPE', key).ok ~= 'hash' then return false end
  if redis.call('TTL', key) == -1 then messages.keep(key) end
  redis.call('LPUSH', list, element)
  return true
end

-- Has a node take messages in hand: those that have rested, and others. Of the room for them the first get half, so that neither keep out
-- the others. Gives whether there were any.
local function take(list, free)
  local taken = false
  local rested = free > 0 and try('ZRANGEBYSCORE', keys.resting, '-inf', request.now, 'LIMIT', 0, math.ceil(free / 2)) or {}
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
  insist('ZADD', keys.nodes, request.now, node)
  adopt(node)
  local list = keys.sending(node)
  local length = try('LLEN', list)
  -- What a foreign program made of it gives way.
  if not length then redis.call('DEL', list) end
  local taken = take(list, most - (length or 0))
  local came = try('LLEN', keys.msg_in) or 0
  return { (answered or ended or taken) and 1 or 0, try('ZCARD', keys.answers) or 0, came, unpack(try('LRANGE', list, 0, most - 1) or {}) }
end
