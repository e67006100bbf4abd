-- Flags: allow-oom
-- Notes that the owner of a message that came has received it: removes it from `msg_in`.
-- ARGV  element
-- Gives 'done' · 'missing' (there is no such message) · 'out' (it is to go out, so the other side acknowledges it).
return function()
  local element = request.take()
  local key = messages.key(element)
  if redis.call('EXISTS', key) == 0 then return 'missing' end
  local came = commands.try('LPOS', keys.msg_in, element)
  if not came and unsent.has(element) then return 'out' end
  commands.try('LREM', keys.msg_in, 0, element)
  local status = commands.try('HGET', key, 'status')
  -- Another program may have left out the status.
  if not status or status == 'dispatched' then messages.set_status(key, 'acknowledged') end
  return 'done'
end
