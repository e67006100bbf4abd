-- Flags: allow-oom
-- Takes names out of a set whose key is gone.
-- ARGV  set of keys · keys to look at …
-- Gives the number taken out.
return function()
  local set, gone = request.take(), 0
  while request.has_more() do
    local key = request.take()
    if redis.call('EXISTS', key) == 0 then gone = gone + redis.call('SREM', set, key) end
  end
  return gone
end
