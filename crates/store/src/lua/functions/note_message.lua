-- Flags:
-- Notes in the log of a message why it has not arrived yet.
-- ARGV  element · reason
-- Gives 1, or 0 if there is no such message.
return function()
  local element, why = request.take_many(2)
  local key = messages.key(element)
  if redis.call('EXISTS', key) == 0 then return 0 end
  messages.log(key, 'it has not arrived yet: ' .. why)
  return 1
end
