-- Flags: allow-oom
-- Receives the result of a job that was sent with a message. If the job is one of this context that is away, this is
-- its end.
-- ARGV  nonce · caller · number of the message with the job · its nonce · key of the signer ·
--       'finished' · output · its format · '', or 'error' · message · kind · list: line and column, '-' for none ·
--       then the fields of the result message, each: name · value
-- Gives 'stored' · 'duplicate' · 'unknown' (there is no such message, or it awaits no result) · 'signer' (its runner
-- has another key) · 'full' (`msg_in` is) · 'number' (the search for one has to go on).
local try = commands.try
-- The maximum number of results of a message: the number of its jobs.
local MOST_RESULTS = 64

-- Returns whether a result is among those that came, a text of nonces, and whether there may be another one.
local function came(results, nonce)
  local _, many = string.gsub(results, '%S+', '')
  return string.find(' ' .. results .. ' ', ' ' .. nonce .. ' ', 1, true) ~= nil, many < MOST_RESULTS
end

return function()
  local nonce, caller, number, awaited, signer, outcome, text, word, place = request.take_many(9)
  local fields = {}
  while request.has_more() do fields[#fields + 1] = request.take() end
  local element = 'message:' .. caller .. ':' .. number
  local key = messages.key(element)
  local known, runner_key, receiver_key, id, claim, status, results =
    unpack(try('HMGET', key, 'nonce', 'runner_key', 'receiver_key', 'away', 'claim', 'status', 'results') or {})
  if not known or known ~= awaited or status == 'error' then return 'unknown' end
  local right = (runner_key and runner_key ~= '' and runner_key) or (receiver_key and receiver_key ~= '' and receiver_key) or signer
  if right ~= signer then return 'signer' end
  -- The hash of the answered message has the results that came.
  local is_away = id and values.is_uuid(id)
  local is_known, may_come = came(results or '', nonce)
  if is_away and status == 'processed' or is_known then return 'duplicate' end
  if not may_come then return 'unknown' end
  if not is_away and messages.length(keys.msg_in) >= messages.MOST_IN then return 'full' end
  local function key_of(digits) return keys.message(caller, digits) end
  local own = not is_away and coordinator.next_number('message', key_of)
  if not is_away and not own then return 'number' end
  if not is_away then redis.call('HSET', key, 'results', (results or '') .. ' ' .. nonce) end
  messages.await_no_more(element)
  messages.set_status(key, 'processed')
  if is_away then
    if outcome == 'finished' then
      messages.record(id, claim, 'finished', word, text)
    else
      local line, column = string.match(place, '^(%S+) (%S+)$')
      line, column = line ~= '-' and line or '', column ~= '-' and column or ''
      messages.record(id, claim, 'error', '-', word, text, line or '', column or '', '', '', '', foreign.next_backoff(id))
    end
    return 'stored'
  end
  redis.call('HSET', key_of(own), 'id', own, 'caller_id', caller, 'context_id', keys.context, unpack(fields))
  redis.call('HSET', key_of(own), 'nonce', nonce, 'answers', number, 'in_reply_to', awaited, 'updated_at', coordinator.seconds())
  messages.keep(key_of(own))
  redis.call('LPUSH', keys.msg_in, 'message:' .. caller .. ':' .. own)
  messages.list('message:' .. caller .. ':' .. own, 'dispatched')
  return 'stored'
end
