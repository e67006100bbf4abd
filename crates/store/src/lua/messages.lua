-- Messages: what is stored of one, and where it waits.
--
-- Elements of the lists `msg_in`, `msg_out` and `msg_out:sending:{hand}` are keys without the prefix of the context. Other programs push
-- them, too, and may have written anything into the hashes.
local try, insist = commands.try, commands.insist
local messages = {}

-- How many messages wait at most to be sent, and so many more where they are answers for jobs that have run; and to be fetched.
messages.MOST_OUT, messages.MOST_ANSWERS, messages.MOST_IN = 10000, 10000, 10000
-- How many entries the log of one has, and how long an entry is, bytes.
messages.MOST_LOGS, messages.LONGEST_LOG = 100, 1024
-- How many nodes are looked at for what they have in hand; and how many results that are awaited, for those that are not.
local MOST_NODES, LOOKED_AT = 16, 64
-- How many stops wait to be told at most, which runners share; how many of one runner, and how long, s.
local MOST_STOPS, MOST_STOPS_OF_RUNNER, STOPS_KEPT = 10000, 2500, 90000
-- Of how many runners a call has stops told, of how many of each, and when one is told again whose teller is gone, ms.
local MOST_TOLD, TOLD_OF_RUNNER, TOLD_AGAIN = 8, 16, 20000
-- No stop and no message rests for longer, ms.
messages.LONGEST_REST = 60000
local LONGEST_REST = messages.LONGEST_REST
-- How long a message is kept after its time, s; and how long it is when nobody said, s.
local KEPT, TIME = 604800, 3600
-- What a message can be; how many of each are listed, how many leave a list in a call, and how long one is kept that does not change, s.
local STATUSES = { 'dispatched', 'acknowledged', 'processed', 'error' }
local MOST_LISTED, MOST_UNLISTED, LISTED = 10000, 64, 3456000
-- No time of a message is longer, s.
local LONGEST = 31536000
-- By how much a message ends later than its `timeout_ack` that is not in the hand of whoever would say so, s.
local LATER = 15
-- Who has the leases of jobs that are away: their messages, and no process.
messages.AWAY = 'away'

-- The greatest number of a caller, and of a message.
local LAST = 4294967295

-- Whether a text is the number of an object, as it is written.
local function is_number(digits) return tonumber(digits) <= LAST and (digits == '0' or string.byte(digits) ~= 48) end

-- Whether a text is an element of those lists.
function messages.is_element(text)
  local caller, number = string.match(text or '', '^message:(%d+):(%d+)$')
  return caller ~= nil and is_number(caller) and is_number(number)
end

function messages.key(element) return keys.prefix .. element end

-- A time in seconds that somebody wrote; what is none is `default`.
function messages.seconds(text, default) return math.min(values.number(text, default), LONGEST) end

-- Adds a line to the log of a message.
function messages.log(key, text)
  local read, logs = pcall(cjson.decode, try('HGET', key, 'logs') or '[]')
  if not read or type(logs) ~= 'table' or #logs > messages.MOST_LOGS then logs = {} end
  if #logs == messages.MOST_LOGS then table.remove(logs, 1) end
  local line = { time = math.floor(request.now / 1000), text = string.sub(text, 1, messages.LONGEST_LOG) }
  logs[#logs + 1] = line
  -- What others wrote that cannot be written again gives way.
  try('HSET', key, 'logs', values.json(logs) or cjson.encode({ line }))
end

-- Takes a message out of the lists of all statuses but this one, which may be nil.
function messages.unlist(element, status)
  for _, other in ipairs(STATUSES) do
    if other ~= status then try('ZREM', keys.messages_of(other), element) end
  end
end

-- Lists a message that has this status from now on. Of very many those stay that got it last.
function messages.list(element, status)
  local key = keys.messages_of(status)
  commands.insist('ZADD', key, request.now, element)
  local over = redis.call('ZCARD', key) - MOST_LISTED
  if over > 0 then redis.call('ZREM', key, unpack(redis.call('ZRANGE', key, 0, math.min(over, MOST_UNLISTED) - 1))) end
  redis.call('EXPIRE', key, LISTED)
end

-- Has a message that goes out end in time, if nobody says what became of it until then: a little after whoever sends it would.
function messages.end_in_time(element)
  local created_at, ack = unpack(try('HMGET', messages.key(element), 'created_at', 'timeout_ack') or {})
  local at = values.number(created_at or nil, 0) + messages.seconds(ack, 300) + LATER
  insist('ZADD', keys.unsent, values.digits(at * 1000), element)
end

-- Writes where a message is.
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
  redis.call('EXPIRE', key, values.digits(math.ceil(longest) + KEPT))
end

-- The lists of what nodes have in hand.
function messages.in_hand()
  local lists = {}
  for _, node in ipairs(try('ZRANGE', keys.nodes, 0, MOST_NODES - 1) or {}) do lists[#lists + 1] = keys.sending(node) end
  return lists
end

-- How many elements a list has; math.huge where somebody made something else of its key, so that it takes nothing.
function messages.length(list) return try('LLEN', list) or math.huge end

-- How many messages wait to be sent, or to be sent again, or were taken by whoever says nothing of them; math.huge where `msg_out` is no
-- list.
function messages.waiting()
  return math.max(messages.length(keys.msg_out) + (try('ZCARD', keys.resting) or 0), try('ZCARD', keys.unsent) or 0)
end

-- The message that came from a signer by this nonce, and by this number if that was free. Else nil, and whether another signer's has it.
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

-- Whether an element is the name of a message that there is.
function messages.is_there(element)
  return messages.is_element(element) and redis.call('TYPE', messages.key(element)).ok == 'hash'
end

-- The runner whose stops that of a message is among; where others have written something else: one that does not exist.
local function stops_with(element)
  local group = try('HGET', messages.key(element), 'runner')
  return group and string.find(group, '^runner%d+$') and group or 'runner0'
end

-- Has the stop of a message told at that time, ms, and its runner looked at by then.
local function tell_at(group, element, at)
  for key, entry in pairs({ [keys.stops_of(group)] = { at, element }, [keys.stops] = { 'LT', at, group } }) do
    insist('ZADD', key, unpack(entry))
    redis.call('EXPIRE', key, STOPS_KEPT)
  end
end

-- Has the other side told that nobody waits for the job of a message any more. Where very many wait to be told, that job goes on there.
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

-- Has a stop told again, at that time, ms. Gives whether it was to be told.
function messages.tell_later(element, at)
  local group = stops_with(element)
  if not try('ZSCORE', keys.stops_of(group), element) then return false end
  tell_at(group, element, at)
  return true
end

-- Whether the other side is still to be told of the stop of a message.
function messages.is_to_be_told(element) return try('ZSCORE', keys.stops_of(stops_with(element)), element) end

-- Has a stop told no more. Gives whether it was to be told.
function messages.tell_no_more(element)
  local group = stops_with(element)
  local was_open = try('ZREM', keys.stops_of(group), element) == 1
  if was_open and redis.call('EXISTS', keys.stops_of(group)) == 0 then try('ZREM', keys.stops, group) end
  return was_open
end

-- The messages of whose stop the other side is to be told now: a few of each runner, and those runners first that have waited longest, so
-- that one with very many of them, or whose place does not answer, holds up no others.
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

-- Stores a message that is to go out, with these fields, each followed by its value, and puts it into `msg_out`. Gives its element and
-- its number, or nil and why it gets none, as `coordinator.next_number` does. Then nothing was done.
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

-- Whether somebody waits for the result of a job that came by a message.
function messages.is_to_be_answered(element)
  local made, address = unpack(try('HMGET', messages.key(element), 'made', 'reply_address') or {})
  for name in string.gmatch(made and address and made or '', 'job:%d+:%d+') do
    if try('HGET', keys.prefix .. name, 'message') == element and try('ZSCORE', keys.answers, name) then return true end
  end
  return false
end

-- Records how a job that is away ended there; what follows the claim is as in `calling.record`. Gives its status now, or 'lost'.
function messages.record(id, claim, ...)
  local server = request.server
  request.server = messages.AWAY
  local status = calling.record(id, claim, ...)
  request.server = server
  return status
end

-- The list of messages whose result is awaited from the runner of one; nil: it is for none, and not with a job that is away.
local function awaited_with(element)
  local group = try('HGET', messages.key(element), 'runner')
  return group and string.find(group, '^runner%d+$') and keys.awaited(group) or nil
end

-- Has the result of a message awaited for so many seconds.
function messages.await(element, seconds)
  local awaited, over = awaited_with(element), request.digits_in(seconds * 1000)
  insist('ZADD', keys.open_messages, over, element)
  if not awaited then return end
  insist('ZADD', awaited, over, element)
  -- As long as the last of them: one that was deleted by hand leaves nothing here for ever.
  local life = values.digits(math.ceil(seconds))
  if redis.call('EXPIRE', awaited, life, 'NX') == 0 then redis.call('EXPIRE', awaited, life, 'GT') end
end

-- Has the result of a message awaited until then, ms, if it is awaited.
function messages.await_until(element, over)
  for _, key in ipairs({ keys.open_messages, awaited_with(element) }) do try('ZADD', key, 'XX', values.digits(over), element) end
end

-- Notes that no result of a message is awaited any more.
function messages.await_no_more(element)
  local awaited = awaited_with(element)
  try('ZREM', keys.open_messages, element)
  if awaited then try('ZREM', awaited, element) end
end

-- How many results are awaited from a runner. Where it seems to be so many or more, what others put there gives way, some with each call;
-- what has lost its message goes when its time is over.
function messages.awaited_of(group, many)
  local awaited = keys.awaited(group)
  insist('ZREMRANGEBYSCORE', awaited, '-inf', request.now)
  local length = redis.call('ZCARD', awaited)
  if length < many then return length end
  local last = redis.call('ZRANGE', awaited, -LOOKED_AT, -1)
  local known = try('ZMSCORE', keys.open_messages, unpack(last)) or {}
  for at, element in ipairs(last) do
    if not known[at] then length = length - redis.call('ZREM', awaited, element) end
  end
  return length
end

-- Ends a message in error, and leaves the job that is away with it, of which the other side is told unless it never had it. Gives whether
-- it had not ended.
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

-- Ends a job at once that is away: what becomes of its message changes nothing any more.
function messages.stop(id, job)
  local element = try('HGET', keys.job(id), 'away')
  if element and messages.is_element(element) and try('HGET', messages.key(element), 'away') == id then
    give_up(element, 'its job was stopped')
  end
  insist('ZREM', keys.leases, id)
  ends.fail(id, job.attempt or 0, 'stopped', 'stopped_by_request', job)
end

-- Ends a message in error, with the job that is away with it. `kind` is what the error of that is called. `never_came`: the other side has
-- not stored it, and will not.
function messages.fail(element, kind, text, never_came)
  if not give_up(element, text, never_came) then return false end
  messages.end_away(element, kind, text)
  return true
end

-- Ends the job that is away with a message in error, if one is.
function messages.end_away(element, kind, text)
  local id, claim = unpack(try('HMGET', messages.key(element), 'away', 'claim') or {})
  if not id or not values.is_uuid(id) then return end
  messages.record(id, claim, 'error', '-', kind, text, '', '', '', '', '', foreign.next_backoff(id))
end

return messages
