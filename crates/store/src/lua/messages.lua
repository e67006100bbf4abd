-- Messages: their stored fields, and the lists in which they wait.
--
-- Elements of the lists `msg_in`, `msg_out` and `msg_out:sending:{hand}` are keys without the prefix of the context.
-- Other programs push them, too, and may have written anything into the hashes.
local try, insist = commands.try, commands.insist
local messages = {}

-- The maximum number of messages that wait to be sent, and the additional number for answers of jobs that have run; and
-- the maximum number that wait to be fetched.
messages.MOST_OUT, messages.MOST_ANSWERS, messages.MOST_IN = 10000, 10000, 10000
-- The maximum number of entries in the log of a message, and the maximum size of an entry, bytes.
messages.MOST_LOGS, messages.LONGEST_LOG = 100, 1024
-- The number of nodes whose messages in hand are read; and the number of awaited results that are checked for stale
-- ones.
local MOST_NODES, MAX_RESULTS_CHECKED = 16, 64
-- The maximum number of stops that wait to be told, which runners share; the maximum number of one runner, and the time
-- for which they are kept, s.
local MOST_STOPS, MOST_STOPS_OF_RUNNER, STOPS_KEPT = 10000, 2500, 90000
-- The number of runners whose stops a call tells, the number of stops of each, and the time after which a stop whose
-- teller is gone is told again, ms.
local MOST_TOLD, TOLD_OF_RUNNER, TOLD_AGAIN = 8, 16, 20000
-- The maximum time for which a stop or a message rests, ms.
messages.LONGEST_REST = 60000
local LONGEST_REST = messages.LONGEST_REST
-- The time for which a message is kept after its timeout, s; and the default timeout, s.
local RETENTION_SECONDS, TIME = 604800, 3600
-- The statuses of a message; the maximum number of each that are listed, the number that leave a list in a call, and
-- the time for which an unchanged list is kept, s.
local STATUSES = { 'dispatched', 'acknowledged', 'processed', 'error' }
local MOST_LISTED, MOST_UNLISTED, LISTED = 10000, 64, 3456000
-- The maximum time of a message, s.
local MAX_SECONDS = 31536000
-- The time after its `timeout_ack` at which a message ends that nobody has in hand to say so, s.
local LATER = 15
-- The owner of the leases of jobs that are away: their messages, and no process.
messages.AWAY = 'away'

-- The highest number of a caller, and of a message.
local LAST = 4294967295

-- True if a text is the number of an object, in its written form.
local function is_number(digits) return tonumber(digits) <= LAST and (digits == '0' or string.byte(digits) ~= 48) end

-- True if a text is an element of those lists.
function messages.is_element(text)
  local caller, number = string.match(text or '', '^message:(%d+):(%d+)$')
  return caller ~= nil and is_number(caller) and is_number(number)
end

function messages.key(element) return keys.prefix .. element end

-- A time in seconds that somebody wrote, or `default` if it is invalid.
function messages.seconds(text, default) return math.min(values.number(text, default), MAX_SECONDS) end

-- Adds a line to the log of a message.
function messages.log(key, text)
  local read, logs = pcall(cjson.decode, try('HGET', key, 'logs') or '[]')
  if not read or type(logs) ~= 'table' or #logs > messages.MOST_LOGS then logs = {} end
  if #logs == messages.MOST_LOGS then table.remove(logs, 1) end
  local line = { time = math.floor(request.now / 1000), text = string.sub(text, 1, messages.LONGEST_LOG) }
  logs[#logs + 1] = line
  -- Values of others that cannot be written again are dropped.
  try('HSET', key, 'logs', values.json(logs) or cjson.encode({ line }))
end

-- Removes a message from the lists of all statuses but this one, which may be nil.
function messages.unlist(element, status)
  for _, other in ipairs(STATUSES) do
    if other ~= status then try('ZREM', keys.messages_of(other), element) end
  end
end

-- Lists a message that has this status from now on. If there are very many, the latest ones stay.
function messages.list(element, status)
  local key = keys.messages_of(status)
  commands.insist('ZADD', key, request.now, element)
  local over = redis.call('ZCARD', key) - MOST_LISTED
  if over > 0 then redis.call('ZREM', key, unpack(redis.call('ZRANGE', key, 0, math.min(over, MOST_UNLISTED) - 1))) end
  redis.call('EXPIRE', key, LISTED)
end

-- Makes an outgoing message end if there is no verdict in time: a little after the end that its sender would report.
function messages.end_in_time(element)
  local created_at, ack = unpack(try('HMGET', messages.key(element), 'created_at', 'timeout_ack') or {})
  local at = values.number(created_at or nil, 0) + messages.seconds(ack, 300) + LATER
  insist('ZADD', keys.unsent, values.digits(at * 1000), element)
end

-- Writes the status of a message.
function messages.set_status(key, status)
  try('HSET', key, 'status', status, 'updated_at', coordinator.seconds())
  local element = string.sub(key, #keys.prefix + 1)
  if status ~= 'dispatched' then try('ZREM', keys.unsent, element) end
  messages.unlist(element, status)
  messages.list(element, status)
end

-- Keeps a message as long as it may matter.
function messages.keep(key)
  local timeout, result = unpack(try('HMGET', key, 'timeout', 'timeout_result') or {})
  local longest = math.max(messages.seconds(timeout, TIME), messages.seconds(result, TIME))
  redis.call('EXPIRE', key, values.digits(math.ceil(longest) + RETENTION_SECONDS))
end

-- The lists of the messages that nodes have in hand.
function messages.in_hand()
  local lists = {}
  for _, node in ipairs(try('ZRANGE', keys.nodes, 0, MOST_NODES - 1) or {}) do lists[#lists + 1] = keys.sending(node) end
  return lists
end

-- The number of elements of a list; math.huge if its key is no list, so that it takes nothing.
function messages.length(list) return try('LLEN', list) or math.huge end

-- The number of messages that wait to be sent or sent again, or were taken without a verdict; math.huge if `msg_out` is
-- no list.
function messages.waiting()
  return math.max(messages.length(keys.msg_out) + (try('ZCARD', keys.resting) or 0), try('ZCARD', keys.unsent) or 0)
end

-- The message that came from a signer with this nonce, and with this number if it was free. Otherwise nil, and whether
-- another signer's message has it.
function messages.that_came(signer, nonce, caller, number)
  local known, is_of_another = envelopes.known(signer, nonce), false
  for _, element in ipairs({ 'message:' .. caller .. ':' .. number, try('GET', keys.came(known)) or nil }) do
    local own, by, came = unpack(messages.is_element(element) and try('HMGET', messages.key(element), 'nonce', 'public_key', 'sender_id')
      or {})
    if came and own == nonce then
      if envelopes.known(by or '', nonce) == known then return element end
      is_of_another = true
    end
  end
  return nil, is_of_another
end

-- True if an element is the name of an existing message.
function messages.is_there(element)
  return messages.is_element(element) and redis.call('TYPE', messages.key(element)).ok == 'hash'
end

-- The runner to which the stop of a message belongs; runner0, which does not exist, if others have written something
-- else.
local function stops_with(element)
  local group = try('HGET', messages.key(element), 'runner')
  return group and string.find(group, '^runner%d+$') and group or 'runner0'
end

-- Schedules the notification of the stop of a message for a time, ms, and the check of its runner by then.
local function tell_at(group, element, at)
  for key, entry in pairs({ [keys.stops_of(group)] = { at, element }, [keys.stops] = { 'LT', at, group } }) do
    insist('ZADD', key, unpack(entry))
    redis.call('EXPIRE', key, STOPS_KEPT)
  end
end

-- Makes the other side learn that nobody waits for the job of a message any more. If very many stops wait, that job
-- goes on there.
local function send_stop(element)
  local key, group = messages.key(element), stops_with(element)
  local share = math.floor(MOST_STOPS / math.max(try('ZCARD', keys.stops) or 0, 1))
  local most = math.min(MOST_STOPS_OF_RUNNER, math.max(share, 1))
  if (try('ZCARD', keys.stops_of(group)) or 0) >= most then
    local text = 'the other side is not told that its job was stopped, which may run on there: ' .. values.digits(most)
    return messages.log(key, text .. ' stops wait already that are for ' .. group)
  end
  try('HSET', key, 'stopped_at', coordinator.seconds())
  tell_at(group, element, values.digits(request.now))
end

-- Schedules a stop to be told again at a time, ms. Returns whether it was to be told.
function messages.tell_later(element, at)
  local group = stops_with(element)
  if not try('ZSCORE', keys.stops_of(group), element) then return false end
  tell_at(group, element, at)
  return true
end

-- True if the other side is still to be told of the stop of a message.
function messages.is_to_be_told(element) return try('ZSCORE', keys.stops_of(stops_with(element)), element) end

-- Cancels the notification of a stop. Returns whether it was to be told.
function messages.tell_no_more(element)
  local group = stops_with(element)
  local was_open = try('ZREM', keys.stops_of(group), element) == 1
  if was_open and redis.call('EXISTS', keys.stops_of(group)) == 0 then try('ZREM', keys.stops, group) end
  return was_open
end

-- The messages whose stop the other side is to be told of now: a few of each runner, and first the runners that have
-- waited longest, so that a runner with very many, or whose node does not answer, blocks no others.
function messages.take_stops()
  local taken = {}
  for _, group in ipairs(request.due(keys.stops, LONGEST_REST, MOST_TOLD)) do
    local stops = keys.stops_of(group)
    for _, element in ipairs(request.due(stops, LONGEST_REST, TOLD_OF_RUNNER)) do
      if messages.is_there(element) then
        redis.call('ZADD', stops, 'XX', values.digits(request.now + TOLD_AGAIN), element)
        taken[#taken + 1] = element
      else
        redis.call('ZREM', stops, element)
      end
    end
    local _, at = unpack(try('ZRANGE', stops, 0, 0, 'WITHSCORES') or {})
    if at then
      local is_later = tonumber(at) > request.now and tonumber(at) <= request.now + LONGEST_REST
      redis.call('ZADD', keys.stops, is_later and at or values.digits(request.now), group)
    else
      redis.call('ZREM', keys.stops, group)
    end
  end
  return taken
end

-- Stores an outgoing message with these fields, each followed by its value, and puts it into `msg_out`. Returns its
-- element and its number, or nil and the reason, as `coordinator.next_number` does, if it gets no number. Then nothing
-- was done.
function messages.send(caller, ...)
  local function key_of(number) return keys.message(caller, number) end
  local number, why = coordinator.next_number('message', key_of)
  if not number then return nil, why end
  local key, now = key_of(number), coordinator.seconds()
  redis.call('HSET', key, 'id', number, 'caller_id', caller, 'context_id', keys.context, ...)
  redis.call('HSET', key, 'logs', '[]', 'created_at', now, 'updated_at', now, 'status', 'dispatched')
  messages.keep(key)
  local element = 'message:' .. caller .. ':' .. number
  redis.call('LPUSH', keys.msg_out, element)
  messages.end_in_time(element)
  messages.list(element, 'dispatched')
  return element, number
end

-- True if somebody waits for the result of a job that came with a message.
function messages.is_to_be_answered(element)
  local made, address = unpack(try('HMGET', messages.key(element), 'made', 'reply_address') or {})
  for name in string.gmatch(made and address and made or '', 'job:%d+:%d+') do
    if try('HGET', keys.prefix .. name, 'message') == element and try('ZSCORE', keys.answers, name) then return true end
  end
  return false
end

-- Records the end of a job that is away; the arguments after the claim are those of `calling.record`. Returns its
-- status now, or 'lost'.
function messages.record(id, claim, ...)
  local server = request.server
  request.server = messages.AWAY
  local status = calling.record(id, claim, ...)
  request.server = server
  return status
end

-- The list of messages whose result is awaited from the same runner; nil: the message is for no runner, or without a
-- job that is away.
local function awaited_with(element)
  local group = try('HGET', messages.key(element), 'runner')
  return group and string.find(group, '^runner%d+$') and keys.awaited(group) or nil
end

-- Waits for the result of a message, for a time in seconds.
function messages.await(element, seconds)
  local awaited, over = awaited_with(element), request.digits_in(seconds * 1000)
  insist('ZADD', keys.open_messages, over, element)
  if not awaited then return end
  insist('ZADD', awaited, over, element)
  -- The list expires with its last entry, so that a message that was deleted by hand leaves nothing behind.
  local life = values.digits(math.ceil(seconds))
  if redis.call('EXPIRE', awaited, life, 'NX') == 0 then redis.call('EXPIRE', awaited, life, 'GT') end
end

-- Waits for the result of a message until a time, ms, if it is awaited.
function messages.await_until(element, over)
  for _, key in ipairs({ keys.open_messages, awaited_with(element) }) do try('ZADD', key, 'XX', values.digits(over), element) end
end

-- Notes that no result of a message is awaited any more.
function messages.await_no_more(element)
  local awaited = awaited_with(element)
  try('ZREM', keys.open_messages, element)
  if awaited then try('ZREM', awaited, element) end
end

-- The number of results that are awaited from a runner. If it seems to be at least `many`, entries of other programs
-- are removed, some with each call; an entry without a message is removed at its timeout.
function messages.awaited_of(group, many)
  local awaited = keys.awaited(group)
  insist('ZREMRANGEBYSCORE', awaited, '-inf', request.now)
  local length = redis.call('ZCARD', awaited)
  if length < many then return length end
  local last = redis.call('ZRANGE', awaited, -MAX_RESULTS_CHECKED, -1)
  local known = try('ZMSCORE', keys.open_messages, unpack(last)) or {}
  for at, element in ipairs(last) do
    if not known[at] then length = length - redis.call('ZREM', awaited, element) end
  end
  return length
end

-- Ends a message in error and detaches the job that is away with it. The other side is told, unless it never had the
-- message. Returns whether the message had not ended.
local function give_up(element, text, never_came)
  local key = messages.key(element)
  local status, id = unpack(try('HMGET', key, 'status', 'away') or {})
  messages.await_no_more(element)
  if not status and redis.call('EXISTS', key) == 0 or status == 'processed' or status == 'error' then return false end
  messages.set_status(key, 'error')
  try('HSET', key, 'error', text)
  messages.log(key, text)
  if id and not never_came then send_stop(element) end
  return true
end

-- Ends a job that is away at once. The outcome of its message changes nothing any more.
function messages.stop(id, job)
  local element = try('HGET', keys.job(id), 'away')
  if element and messages.is_element(element) and try('HGET', messages.key(element), 'away') == id then
    give_up(element, 'its job was stopped')
  end
  insist('ZREM', keys.leases, id)
  ends.fail(id, job.attempt or 0, 'stopped', 'stopped_by_request', job)
end

-- Ends a message in error, with the job that is away with it. `kind` is the kind of that error. `never_came`: the other
-- side has not stored the message, and will not.
function messages.fail(element, kind, text, never_came)
  if not give_up(element, text, never_came) then return false end
  messages.end_away(element, kind, text)
  return true
end

-- Ends the job that is away with a message in error, if there is one.
function messages.end_away(element, kind, text)
  local id, claim = unpack(try('HMGET', messages.key(element), 'away', 'claim') or {})
  if not id or not values.is_uuid(id) then return end
  messages.record(id, claim, 'error', '-', kind, text, '', '', '', '', '', foreign.next_backoff(id))
end

return messages
