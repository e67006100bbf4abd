-- Flags:
-- Stores a message that is to go out.
-- ARGV  caller · then its fields, each: name · value
-- Gives its number, or 0: so many wait already that it was not stored.
return function()
  local caller, fields = request.take(), {}
  while request.has_more() do fields[#fields + 1] = request.take() end
  if messages.length(keys.msg_out) >= messages.MOST_OUT then return '0' end
  local _, number = messages.send(caller, unpack(fields))
  return number or '0'
end
