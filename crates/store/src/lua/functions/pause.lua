-- Flags: allow-oom
-- Pauses a queue, so that no job is taken from it, or resumes it.
-- ARGV  work queue, without priority · its script type · 'pause' or 'resume' · maximum number of paused queues
-- Gives 'done', 'many' (too many queues are paused) or 'served' (it was not paused).
return function()
  local queue, script_type, pauses, most = request.take(), request.take(), request.take() == 'pause', request.take_number()
  if not pauses then
    if redis.call('SREM', keys.paused, queue) == 0 then return 'served' end
    redis.call('PUBLISH', keys.wake_up(script_type), request.server)
    return 'done'
  end
  local closed = access.refuse_closed()
  if closed then return closed end
  if redis.call('SISMEMBER', keys.paused, queue) == 0 and redis.call('SCARD', keys.paused) >= most then return 'many' end
  redis.call('SADD', keys.paused, queue)
  return 'done'
end
