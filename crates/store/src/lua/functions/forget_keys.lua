-- Flags: allow-oom
-- Removes keys that do not exist any more from a set of keys.
-- ARGV  set of keys · keys to check …
-- Gives the number removed.
return function()
  local set, gone = request.take(), 0
  while request.has_more() do
    local key = request.take()
    if redis.call('EXISTS', key) == 0 then gone = gone + redis.call('SREM', set, key) end
  end
  return gone
end
