-- Flags: allow-oom
-- Notes that a context is about to be changed, or forgets that after the change was told or cancelled. It is allowed
-- while memory is full, because then above all an operator takes rights away and deletes contexts.
-- ARGV  field of the announcement · its text, or '' to forget it
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
