-- Flags: allow-oom
-- Deletes the hash of a context that is otherwise empty. For a day, a server that does not know of the deletion stores
-- nothing in it.
-- ARGV
-- Gives 1, or 0 if the context is not being deleted.
local DAY = 86400

return function()
  if not access.is_closed() then return 0 end
  redis.call('EXPIRE', keys.closed, DAY)
  redis.call('UNLINK', keys.rights)
  return 1
end
