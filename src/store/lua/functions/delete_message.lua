-- Flags: allow-oom
-- Deletes a message that nobody has in hand and no job is away with.
-- ARGV  element
-- Gives 'deleted' · 'missing' · 'open' (it is being sent, or its result is awaited; nothing was done).
return function()
  local element = request.take()
  local key = messages.key(element)
  if redis.call('EXISTS', key) == 0 then return 'missing' end
  local status, away = unpack(commands.try('HMGET', key, 'status', 'away') or {})
  local is_awaited = commands.try('ZSCORE', keys.open_messages, element)
  if is_awaited or away and status ~= 'processed' and status ~= 'error' then return 'open' end
  for _, list in ipairs({ keys.msg_in, keys.msg_out }) do commands.try('LREM', list, 0, element) end
  redis.call('UNLINK', key)
  return 'deleted'
end
