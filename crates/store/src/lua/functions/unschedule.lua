-- Flags: allow-oom
-- Deletes a schedule. Its jobs stay.
-- ARGV  id · 'over' (only if it has ended, or has lost its hash) or ''
-- Gives 'deleted', 'missing' or 'kept'.
return function()
  local id, only_over = request.take(), request.take() == 'over'
  local key = keys.schedule(id)
  -- A key of another type, which another program made, has no end.
  if only_over and redis.call('EXISTS', key) == 1 and (commands.try('HEXISTS', key, 'ended_at') or 0) == 0 then return 'kept' end
  local known = commands.try('ZREM', keys.schedules, id) or 0
  return redis.call('DEL', key, keys.schedule_waiting(id)) + known > 0 and 'deleted' or 'missing'
end
