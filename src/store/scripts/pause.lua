#!lua flags=allow-oom
-- Has nothing taken from a queue, or has it served again.
-- ARGV  9 work queue, without priority   10 its script type   11 'pause' or 'resume'   12 at most so many queues are paused
-- Gives 'done', 'many' (so many are paused already) or 'served' (there was nothing to resume).
local queue, script_type, pauses, most = ARGV[9], ARGV[10], ARGV[11] == 'pause', tonumber(ARGV[12])
if not pauses then
  if redis.call('SREM', paused_key, queue) == 0 then return 'served' end
  redis.call('PUBLISH', bell(script_type), server)
  return 'done'
end
if redis.call('SISMEMBER', paused_key, queue) == 0 and redis.call('SCARD', paused_key) >= most then return 'many' end
redis.call('SADD', paused_key, queue)
return 'done'
