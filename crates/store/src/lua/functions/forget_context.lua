-- Flags: allow-oom
-- Removes a deleted context from the list of existing ones. Its number is never given again.
-- ARGV  the context
-- Gives 1, or 0 if it was not listed.
return function()
  local id = request.take()
  local last = tonumber(commands.try('GET', keys.sequence('context')) or nil) or 0
  if tonumber(id) > last then redis.call('SET', keys.sequence('context'), id) end
  local gone = commands.try('ZREM', keys.contexts, id) or 0
  access.changed()
  return gone
end
