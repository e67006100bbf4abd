-- Flags: allow-oom
-- Removes some staged jobs (create.lua) that are not created.
-- ARGV  group · number of its places
-- Gives the number of places that are left, then script types that have work …
return function()
  local group, many = request.take(), request.take_number()
  local left = links.unstage(group, many)
  news.send_all()
  return { left, unpack(request.types) }
end
