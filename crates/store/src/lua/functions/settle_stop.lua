-- Flags: allow-oom
-- Records the outcome of telling the other side that the job of a message was stopped.
-- ARGV  element · 'told', 'over' (it will not be told) or 'later' · text for the log; for 'later': time for which it rests, ms
-- Gives 1, or 0 if nobody is to be told.
return function()
  local element, outcome, text = request.take_many(3)
  if outcome == 'later' then return messages.tell_later(element, request.digits_in(text)) and 1 or 0 end
  local was_open = messages.tell_no_more(element)
  if was_open and redis.call('EXISTS', messages.key(element)) == 1 then messages.log(messages.key(element), text) end
  return was_open and 1 or 0
end
