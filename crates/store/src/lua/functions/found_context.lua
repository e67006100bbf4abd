-- Flags:
-- Creates the hash of the context if there is none.
-- ARGV
-- Gives 1, or 0 if there is one, or the context is being deleted.
return function()
  if redis.call('EXISTS', keys.rights) == 1 or access.is_closed() then return 0 end
  access.change_context()
  return 1
end
