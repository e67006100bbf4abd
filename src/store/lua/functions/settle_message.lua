-- Flags: allow-oom
-- Records what became of a message that a node has in hand, and takes it out of its hand.
-- ARGV  node · element · 'acknowledged' or 'error' · for 'error': kind of the error · text; else: '' · the key of who has stored it
-- Gives 1, or 0 if that was known.
return function()
  local node, element, outcome, kind, text = request.take_many(5)
  commands.try('LREM', keys.sending(node), 0, element)
  local key, settled = messages.key(element), false
  if outcome == 'error' then
    settled = messages.fail(element, kind, text)
  else
    local status, kinds, limit = unpack(commands.try('HMGET', key, 'status', 'message_type', 'timeout_result') or {})
    local there = status or redis.call('EXISTS', key) == 1
    if there and status ~= 'processed' and status ~= 'error' and status ~= 'acknowledged' then
      messages.set_status(key, 'acknowledged')
      redis.call('HSET', key, 'receiver_key', text)
      if kinds == 'job' then
        commands.insist('ZADD', keys.open_messages, values.digits(request.now + messages.seconds(limit, 3600) * 1000), element)
      end
      settled = true
    end
  end
  return settled and 1 or 0
end
