#!lua flags=allow-oom
-- Deletes a schedule. Its jobs stay.
-- ARGV  9 id   10 'over' (only if it has come to its end, or has lost its hash) or ''
-- Gives 'deleted', 'missing' or 'kept'.
local id, key = ARGV[9], schedule_key(ARGV[9])
if ARGV[10] == 'over' and redis.call('EXISTS', key) == 1 and redis.call('HEXISTS', key, 'ended_at') == 0 then return 'kept' end
local known = redis.call('ZREM', schedules_key, id)
return redis.call('DEL', key, schedule_waiting_key(id)) + known > 0 and 'deleted' or 'missing'
