-- Flags: allow-oom
-- Deletes a message that no job is away with, and whose own jobs have been answered for. One that is on its way may arrive all the same.
-- ARGV  element
-- Gives 'deleted' · 'missing' · 'open' (its result is awaited; nothing was done).
local try = commands.try

return function()
  local element = request.take()
  local key = messages.key(element)
  if redis.call('EXISTS', key) == 0 then return 'missing' end
  local status, away = unpack(try('HMGET', key, 'status', 'away') or {})
  local is_awaited = try('ZSCORE', keys.open_messages, element)
  if is_awaited or away and status ~= 'processed' and status ~= 'error' then return 'open' end
  -- Without it its answer would go to nobody.
  if messages.is_to_be_answered(element) then return 'open' end
  for _, list in ipairs({ keys.msg_in, keys.msg_out, unpack(messages.in_hand()) }) do try('LREM', list, 0, element) end
  try('ZREM', keys.resting, element)
  redis.call('UNLINK', key)
  return 'deleted'
end
