-- Flags: allow-oom
-- Deletes a message that no job is away with. One that is on its way may arrive all the same.
-- ARGV  element
-- Gives 'deleted' · 'missing' · 'open' (its result is awaited; nothing was done).
local try = commands.try

-- How many nodes are looked at for what they have in hand.
local MOST_NODES = 16

return function()
  local element = request.take()
  local key = messages.key(element)
  if redis.call('EXISTS', key) == 0 then return 'missing' end
  local status, away = unpack(try('HMGET', key, 'status', 'away') or {})
  local is_awaited = try('ZSCORE', keys.open_messages, element)
  if is_awaited or away and status ~= 'processed' and status ~= 'error' then return 'open' end
  local lists = { keys.msg_in, keys.msg_out }
  for _, node in ipairs(try('ZRANGE', keys.nodes, 0, MOST_NODES - 1) or {}) do lists[#lists + 1] = keys.sending(node) end
  for _, list in ipairs(lists) do try('LREM', list, 0, element) end
  try('ZREM', keys.resting, element)
  redis.call('UNLINK', key)
  return 'deleted'
end
