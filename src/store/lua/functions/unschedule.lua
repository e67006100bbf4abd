-- Flags: allow-oom
-- Deletes a schedule. Its jobs stay.
-- ARGV  id · 'over' (only if it has come to its end, or has lost its hash) or ''
-- Gives 'deleted', 'missing' or 'kept'.
return function()
  local id, only_over = request.take(), request.take() == 'over'
  local key = keys.schedule(id)
  if only_over and redis.call('EXISTS', key) == 1 and redis.call('HEXISTS', key, 'ended_at') == 0 then return 'kept' end
  local known = redis.call('ZREM', keys.schedules, id)
  return redis.call('DEL', key, keys.schedule_waiting(id)) + known > 0 and 'deleted' or 'missing'
end
