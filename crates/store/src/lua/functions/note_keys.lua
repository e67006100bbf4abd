-- Flags: allow-oom
-- Adds existing keys to a set of keys.
-- ARGV  set of keys · keys …
-- Gives the number of keys that were missing.
return function()
  local set, missing = request.take(), 0
  while request.has_more() do
    local key = request.take()
    -- Nothing is written without a change.
    if commands.try('SISMEMBER', set, key) ~= 1 then missing = missing + commands.insist('SADD', set, key) end
  end
  return missing
end
