-- Flags:
-- Creates the jobs of a message that another program put into `msg_in`, or records its error, and removes it from
-- there.
-- ARGV  'look' (memory may be short) or '-' · queue length limit · maximum number of jobs created per second, or 0
--       · element · its error, or '' · its jobs, as `message_jobs.take_jobs` reads them
-- Gives {'made', of each of its jobs: name · id}, or {} if it was removed before, or if so many jobs may not be created
-- now, or none in this context, or if the search for their numbers has to go on.
return function()
  local look, limit_of_queue, per_second = request.take(), request.take_number(), request.take_number()
  local element, wrong = request.take_many(2)
  local list = message_jobs.take_jobs()
  if access.is_closed() or wrong == '' and request.is_nearly_full(look) then return {} end
  if wrong == '' and message_jobs.refuse_jobs(list, limit_of_queue, per_second) then return {} end
  local numbers, why = message_jobs.numbers_of(list)
  if not numbers and why == 'later' then return {} end
  if not numbers then wrong = 'there is no number left for a job' end
  if not messages.is_element(element) or commands.try('LREM', keys.msg_in, -1, element) ~= 1 then return {} end
  if wrong ~= '' then
    messages.fail(element, 'unavailable', wrong, true)
    return { 'made' }
  end
  messages.set_status(messages.key(element), 'acknowledged')
  return { 'made', unpack(message_jobs.make_jobs(element, list, numbers, per_second)) }
end
