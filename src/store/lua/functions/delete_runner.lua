-- Flags: allow-oom
-- Deletes a runner. Its jobs stay where they are, and its number is not given again.
-- ARGV  its number
-- Gives whether there was one: 1 or 0.
return function()
  local id = request.take()
  coordinator.keep_number('runner', id)
  commands.try('ZREM', keys.runners, id)
  commands.try('ZREMRANGEBYSCORE', keys.topics, id, id)
  local there = redis.call('UNLINK', keys.runner(id))
  if there == 1 then coordinator.changed('runners') end
  return there
end
