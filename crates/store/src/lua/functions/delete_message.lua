-- Flags: allow-oom
-- Deletes a message that no job is away with, whose stop nobody is to be told of, and whose own jobs have been
-- answered. A message that is on its way may still arrive.
-- ARGV  element
-- Gives 'deleted' · 'missing'; or nothing was done: 'open' (its result is awaited) · 'untold' (the other side does not
--       know yet that its job was stopped) · 'unanswered' (the results of its own jobs are awaited).
local try = commands.try

return function()
  local element = request.take()
  local key = messages.key(element)
  if redis.call('EXISTS', key) == 0 then return 'missing' end
  local status, away = unpack(try('HMGET', key, 'status', 'away') or {})
  local is_awaited = try('ZSCORE', keys.open_messages, element)
  if is_awaited or away and status ~= 'processed' and status ~= 'error' then return 'open' end
  -- Without the message nobody would be told, and its job would go on there.
  if messages.is_to_be_told(element) then return 'untold' end
  -- Without the message its answer would go to nobody.
  if messages.is_to_be_answered(element) then return 'unanswered' end
  for _, list in ipairs({ keys.msg_in, keys.msg_out, unpack(messages.in_hand()) }) do try('LREM', list, 0, element) end
  try('ZREM', keys.resting, element)
  try('ZREM', keys.unsent, element)
  messages.unlist(element)
  redis.call('UNLINK', key)
  return 'deleted'
end
