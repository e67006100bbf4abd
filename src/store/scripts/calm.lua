#!lua flags=allow-oom
-- Says which script types no foreign actor takes.
-- ARGV  9 seconds for which that holds   10… script types that actors of ours take, and no other that shows itself
-- Gives the number of types.
-- A sign of one that does not show itself, such as a started job without a lease, counts for an hour.
redis.call('ZREMRANGEBYSCORE', foreign_key, '-inf', now - 3600000)
if redis.call('EXISTS', foreign_key) == 1 then redis.call('EXPIRE', foreign_key, 7200) end

local of_type, calm, changed = {}, {}, false
for at = 10, #ARGV do
  local script_type = ARGV[at]
  if not redis.call('ZSCORE', foreign_key, script_type) then
    of_type[script_type] = true
    calm[#calm + 1] = script_type
    changed = changed or redis.call('SISMEMBER', calm_key, script_type) == 0
  end
end
for _, script_type in ipairs(redis.call('SMEMBERS', calm_key)) do
  if not of_type[script_type] then redis.call('SREM', calm_key, script_type) end
end
-- Each write goes to the append-only file, so nothing is written that says nothing new.
if changed then redis.call('SADD', calm_key, unpack(calm)) end
if #calm > 0 and redis.call('TTL', calm_key) < ARGV[9] / 2 then redis.call('EXPIRE', calm_key, ARGV[9]) end
return #calm
