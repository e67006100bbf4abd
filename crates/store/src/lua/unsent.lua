-- Outgoing messages without a verdict: each ends in time, whoever has taken it from `msg_out`.
local try = commands.try
local unsent = {}

-- The number of expired messages that a call ends; and the number of elements that are searched from either end of a
-- list.
local MOST_OVER, LOOKED_THROUGH = 16, 1000
-- A time that is further ahead than this was written before the clock of Redis was set back, s.
local AHEAD = 1

local function is_in(list, element)
  return try('LPOS', list, element, 'MAXLEN', LOOKED_THROUGH) or try('LPOS', list, element, 'RANK', -1, 'MAXLEN', LOOKED_THROUGH)
end

-- True if a message is to go out from here, and there is no verdict yet.
function unsent.has(element) return try('ZSCORE', keys.unsent, element) or is_in(keys.msg_out, element) end

-- Makes a message end in time that a node takes in hand. A message from before a backward step of the clock gets the current
-- time, because the other side accepts no message from the future.
function unsent.note(element)
  local key = messages.key(element)
  local status, created_at, signature = unpack(try('HMGET', key, 'status', 'created_at', 'signature') or {})
  if status and status ~= '' and status ~= 'dispatched' then return end
  local is_signed = signature and signature ~= ''
  local is_ahead = values.number(created_at or nil, 0) * 1000 > request.now + AHEAD * 1000
  if is_ahead and not is_signed then redis.call('HSET', key, 'created_at', coordinator.seconds()) end
  if is_ahead or not try('ZSCORE', keys.unsent, element) then messages.end_in_time(element) end
end

-- Why a message was not acknowledged, according to the lists that contain it.
local function reason(element)
  local is_long = (try('LLEN', keys.msg_out) or 0) > 2 * LOOKED_THROUGH
  if is_long or is_in(keys.msg_out, element) then return 'nobody sent it until then' end
  if try('ZSCORE', keys.resting, element) then return 'it did not arrive' end
  for _, hand in ipairs(messages.in_hand()) do
    if is_in(hand, element) then return 'nobody has said that it arrived' end
  end
  return 'another program has taken it out of msg_out, and has not said that it arrived'
end

-- Ends expired messages. Another program may have sent one and recorded its acknowledgement: then its result is
-- awaited. A job that is away with an expired message ends with it.
function unsent.end_some()
  local over = try('ZRANGEBYSCORE', keys.unsent, '-inf', request.now, 'LIMIT', 0, MOST_OVER) or {}
  for _, element in ipairs(over) do
    local key = messages.key(element)
    local status, kind, ack, result = unpack(try('HMGET', key, 'status', 'message_type', 'timeout_ack', 'timeout_result') or {})
    try('ZREM', keys.unsent, element)
    if status == 'acknowledged' then
      if kind == 'job' and not try('ZSCORE', keys.open_messages, element) then messages.await(element, messages.seconds(result, 3600)) end
    elseif status == 'error' or status == 'processed' then
      messages.end_away(element, 'unavailable', 'another program has said that its message is in status ' .. status)
    elseif messages.is_there(element) then
      local seconds = values.digits(messages.seconds(ack, 300))
      messages.fail(element, 'unavailable', 'it was not acknowledged within ' .. seconds .. ' s (timeout_ack): ' .. reason(element))
    end
  end
  return #over > 0
end

return unsent
