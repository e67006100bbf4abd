-- Flags: allow-oom
-- Has keys in a set of ours, where those are noted that are there.
-- ARGV  set of keys · keys …
-- Gives the number that was missing.
return function()
  local set, missing = request.take(), 0
  while request.has_more() do
    local key = request.take()
    -- Nothing is written that says nothing new.
    if commands.try('SISMEMBER', set, key) ~= 1 then missing = missing + commands.insist('SADD', set, key) end
  end
  return missing
end
