-- Flags: allow-oom
-- Has the context take nothing new, before all of it is deleted.
-- ARGV  'stop' (whatever it holds) or 'idle' (only if no job of it runs or waits)
-- Gives {1, 0, 0, 0}; or {0, jobs that run · wait in queues · wait for their time} if it has some.
local function many(key) return commands.try('ZCARD', key) or 0 end

return function()
  local running, queued, scheduled = many(keys.leases), many(keys.watched), many(keys.scheduled)
  if request.take() == 'idle' and running + queued + scheduled > 0 then return { 0, running, queued, scheduled } end
  redis.call('SET', keys.closed, request.server)
  if redis.call('EXISTS', keys.rights) == 1 then
    access.change_context()
    commands.insist('HSET', keys.rights, 'status', 'deleting')
  end
  return { 1, 0, 0, 0 }
end
