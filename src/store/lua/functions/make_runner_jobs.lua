-- Flags:
-- Makes the jobs of a message that another program put into `msg_in`, or says what is wrong with it, and takes it out of there.
-- ARGV  queue length limit · the most jobs that may be created in a second, or 0 · element · what is wrong, or '' ·
--       its jobs, as `messages.take_jobs` reads them
-- Gives 1, or 0 if it was taken out before, or so many jobs may not be made now.
return function()
  local limit_of_queue, per_second = request.take_number(), request.take_number()
  local element, wrong = request.take_many(2)
  local list = messages.take_jobs()
  if wrong == '' and not messages.have_room(list, limit_of_queue, per_second) then return 0 end
  if not messages.is_element(element) or commands.try('LREM', keys.msg_in, -1, element) ~= 1 then return 0 end
  if wrong ~= '' then
    messages.fail(element, 'unavailable', wrong)
    return 1
  end
  messages.set_status(messages.key(element), 'acknowledged')
  messages.make_jobs(element, list, per_second)
  return 1
end
