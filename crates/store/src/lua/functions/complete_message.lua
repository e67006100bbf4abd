-- Flags: allow-oom
-- Adds fields to the hash of a message.
-- ARGV  element · then its fields, each: name · value
-- Gives 1, or 0 if there is no such message (any more).
return function()
  local key, fields = messages.key(request.take()), {}
  while request.has_more() do fields[#fields + 1] = request.take() end
  if redis.call('TYPE', key).ok ~= 'hash' then return 0 end
  redis.call('HSET', key, unpack(fields))
  return 1
end
