-- Flags: allow-oom
-- Notes that the owner of a message has it: takes it out of `msg_in`.
-- ARGV  element
-- Gives 1, or 0 if there is no such message.
return function()
  local element = request.take()
  if redis.call('EXISTS', messages.key(element)) == 0 then return 0 end
  commands.try('LREM', keys.msg_in, 0, element)
  local status = commands.try('HGET', messages.key(element), 'status')
  -- Another program may have left it out.
  if not status or status == 'dispatched' then
    messages.set_status(messages.key(element), 'acknowledged')
  end
  return 1
end
