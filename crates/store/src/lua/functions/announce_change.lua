-- Flags: allow-oom
-- Notes that a context is about to be changed, or that this is told or was not done: an operator takes rights away and deletes contexts
-- above all when memory is full.
-- ARGV  field of the announcement · what it says, or '' to forget it
-- Gives 1.
return function()
  local field, text = request.take(), request.take()
  if text == '' then
    commands.try('HDEL', keys.access, field)
  else
    commands.insist('HSET', keys.access, field, text)
  end
  return 1
end
