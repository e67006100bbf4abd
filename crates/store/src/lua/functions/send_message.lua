-- Flags:
-- Stores an outgoing message.
-- ARGV  'look' (memory may be short) or '-' · caller · then its fields, each: name · value
-- Gives {'stored', its number} · {'full'} (too many messages wait; it was not stored) · {'no list'} (`msg_out` is
-- something else)
-- · {'none'} (there is no number left for it) · {'later'} (the next call goes on looking for one).
return function()
  local look, caller, fields = request.take(), request.take(), {}
  while request.has_more() do fields[#fields + 1] = request.take() end
  local refused = access.refuse_closed() or request.refuse_nearly_full(look)
  if refused then return refused end
  local waiting = messages.waiting()
  if waiting == math.huge then return { 'no list' } end
  if waiting >= messages.MOST_OUT then return { 'full' } end
  local element, number = messages.send(caller, unpack(fields))
  return element and { 'stored', number } or { number }
end
