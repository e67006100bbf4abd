-- Flags: allow-oom
-- Takes the result of a job that was sent by a message. If the job is one of this context that is away, this is how it ended.
-- ARGV  nonce · until when it may come again, ms · caller · number of the message with the job · its nonce · the key of who signed ·
--       'finished' · output · its format · '', or 'error' · message · kind · list: line and column, '-' for none ·
--       then the fields of the result message, each: name · value
-- Gives 'stored' · 'duplicate' · 'unknown' (there is no such message, or it waits for no result) · 'signer' (its runner has another key) ·
-- 'full'.
local try, insist = commands.try, commands.insist

return function()
  local nonce, again, caller, number, awaited, signer, outcome, text, word, place = request.take_many(10)
  local fields = {}
  while request.has_more() do fields[#fields + 1] = request.take() end
  insist('ZREMRANGEBYSCORE', keys.nonces, '-inf', request.now)
  if redis.call('ZSCORE', keys.nonces, nonce) then return 'duplicate' end
  local element = 'message:' .. caller .. ':' .. number
  local key = messages.key(element)
  local known, runner_key, receiver_key, id, claim, status =
    unpack(try('HMGET', key, 'nonce', 'runner_key', 'receiver_key', 'away', 'claim', 'status') or {})
  if not known or known ~= awaited or status == 'error' then return 'unknown' end
  local right = (runner_key and runner_key ~= '' and runner_key) or (receiver_key and receiver_key ~= '' and receiver_key) or signer
  if right ~= signer then return 'signer' end
  local is_away = id and values.is_uuid(id)
  if not is_away and messages.length(keys.msg_in) >= messages.MOST_IN then return 'full' end
  insist('ZADD', keys.nonces, again, nonce)
  try('ZREM', keys.open_messages, element)
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
  local function key_of(digits) return keys.message(caller, digits) end
  local own = coordinator.next_number('message', key_of)
  if own then
    redis.call('HSET', key_of(own), 'id', own, 'caller_id', caller, 'context_id', keys.context, unpack(fields))
    redis.call('HSET', key_of(own), 'nonce', nonce, 'answers', number, 'in_reply_to', awaited, 'updated_at', coordinator.seconds())
    messages.keep(key_of(own))
    redis.call('LPUSH', keys.msg_in, 'message:' .. caller .. ':' .. own)
  end
  return 'stored'
end
