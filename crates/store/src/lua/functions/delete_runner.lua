-- Flags: allow-oom
-- Deletes a runner. Its jobs stay where they are, and its number is not given again.
-- ARGV  its number
-- Gives whether there was one: 1 or 0.
return function()
  local id = request.take()
  coordinator.recover_runners()
  local there = redis.call('UNLINK', keys.runner(id))
  if (commands.try('ZREM', keys.runners, id) or 0) + there > 0 then coordinator.keep_runner(id) end
  commands.try('ZREMRANGEBYSCORE', keys.topics, id, id)
  if there == 1 then coordinator.changed('runners') end
  return there
end
