-- Flags: allow-oom
-- Deletes keys of the context, if it is being deleted. The memory is freed later, beside other work.
-- ARGV  keys …
-- Gives the number of deleted keys, or -1 if the context is not being deleted.
return function()
  if not access.is_closed() then return -1 end
  local gone = 0
  while request.has_more() do
    local key = request.take()
    -- These say that it is being deleted, and are deleted last.
    if key ~= keys.closed and key ~= keys.rights then gone = gone + redis.call('UNLINK', key) end
  end
  return gone
end
