-- Flags: allow-oom
-- Notes which script types are native only: no foreign actor takes them.
-- ARGV  lifetime of this note, s · script types with actors of ours, and no others that show themselves …
-- Gives the number of types.

-- The time for which a sign of a foreign actor without a presence counts, such as a started job without a lease, ms.
local SIGN_COUNTS = 3600000
-- The lifetime of the key with these signs, s.
local SIGNS_SECONDS = 7200

return function()
  local seconds = request.take_number()
  redis.call('ZREMRANGEBYSCORE', keys.foreign, '-inf', request.now - SIGN_COUNTS)
  if redis.call('EXISTS', keys.foreign) == 1 then redis.call('EXPIRE', keys.foreign, SIGNS_SECONDS) end

  local is_native_only, native_only, changed = {}, {}, false
  while request.has_more() do
    local script_type = request.take()
    if not redis.call('ZSCORE', keys.foreign, script_type) then
      is_native_only[script_type] = true
      native_only[#native_only + 1] = script_type
      changed = changed or redis.call('SISMEMBER', keys.native_only, script_type) == 0
    end
  end
  for _, script_type in ipairs(redis.call('SMEMBERS', keys.native_only)) do
    if not is_native_only[script_type] then redis.call('SREM', keys.native_only, script_type) end
  end
  -- Each write goes to the append-only file, so nothing is written without a change.
  if changed then redis.call('SADD', keys.native_only, unpack(native_only)) end
  if #native_only > 0 and redis.call('TTL', keys.native_only) < seconds / 2 then redis.call('EXPIRE', keys.native_only, seconds) end
  return #native_only
end
