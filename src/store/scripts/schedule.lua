-- Stores a schedule.
-- ARGV  9 id   10 first slot, ms   11 most schedules   12 specification (JSON)   13 time of its creation
-- Gives 'created', 'exists' (id taken) or 'full'.
local id, first, most, key = ARGV[9], ARGV[10], tonumber(ARGV[11]), schedule_key(ARGV[9])
if redis.call('EXISTS', key) == 1 then return 'exists' end
if redis.call('ZCARD', schedules_key) >= most then return 'full' end
redis.call('HSET', key, 'spec', ARGV[12], 'created_at', ARGV[13])
redis.call('ZADD', schedules_key, first, id)
return 'created'
