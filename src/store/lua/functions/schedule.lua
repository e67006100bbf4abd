-- Flags:
-- Stores a schedule.
-- ARGV  id · first occurrence, ms · most schedules · specification (JSON) · time of its creation
-- Gives 'created', 'exists' (id taken) or 'full'.
return function()
  local id, first, most, spec, created_at = request.take(), request.take(), request.take_number(), request.take(), request.take()
  local key = keys.schedule(id)
  if redis.call('EXISTS', key) == 1 then return 'exists' end
  if redis.call('ZCARD', keys.schedules) >= most then return 'full' end
  redis.call('HSET', key, 'spec', spec, 'created_at', created_at)
  redis.call('ZADD', keys.schedules, first, id)
  return 'created'
end
