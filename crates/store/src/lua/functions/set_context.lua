-- Flags: allow-oom
-- Creates the hash of the context, or changes it. A value of '-' leaves the field as it is.
-- ARGV  name · limits, JSON · admins, JSON
-- Gives 'stored'.
return function()
  local name, limits, admins = request.take_many(3)
  local closed = access.refuse_closed()
  if closed then return closed end
  access.change_context()
  if name ~= '-' then commands.insist('HSET', keys.rights, 'name', string.sub(name, 2)) end
  if limits ~= '-' then commands.insist('HSET', keys.rights, 'limits', limits) end
  if admins ~= '-' then commands.insist('HSET', keys.rights, 'admins', admins) end
  return 'stored'
end
