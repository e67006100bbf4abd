-- Flags: allow-oom
-- Records the outcome of a message that a node has in hand, and removes it from its hand.
-- ARGV  node · element · 'acknowledged', 'error' (the other side does not have it), 'over' (it is given up, and may be there) or 'later' ·
--       for 'error' and 'over': kind of the error · text; else: '' · for 'acknowledged': key of the node that has stored it; for 'later':
--       time for which it rests, ms
-- Gives 1, or 0 if that was known.
local try, insist = commands.try, commands.insist

return function()
  local node, element, outcome, kind, text = request.take_many(5)
  local was_in_hand = (try('LREM', keys.sending(node), 0, element) or 0) > 0
  local key = messages.key(element)
  local status, kinds, limit = unpack(try('HMGET', key, 'status', 'message_type', 'timeout_result') or {})
  local is_open = (status or redis.call('EXISTS', key) == 1) and status ~= 'processed' and status ~= 'error' and status ~= 'acknowledged'
  if outcome == 'later' then
    -- A node that took it over since sends it.
    if is_open and was_in_hand then insist('ZADD', keys.resting, request.digits_in(text), element) end
    return is_open and was_in_hand and 1 or 0
  end
  -- Another attempt may have delivered it since, or its result may have arrived.
  if not is_open then return 0 end
  if outcome == 'error' or outcome == 'over' then return messages.fail(element, kind, text, outcome == 'error') and 1 or 0 end
  messages.set_status(key, 'acknowledged')
  redis.call('HSET', key, 'receiver_key', text)
  if kinds == 'job' then
    messages.await(element, messages.seconds(limit, 3600))
  end
  return 1
end
