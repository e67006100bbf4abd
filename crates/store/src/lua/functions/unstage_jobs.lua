-- Flags: allow-oom
-- Takes away some of what was staged (create.lua) and is not to be created.
-- ARGV  group · of how many places
-- Gives of how many places something is left, then script types that have work …
return function()
  local group, many = request.take(), request.take_number()
  local left = links.unstage(group, many)
  news.send_all()
  return { left, unpack(request.types) }
end
