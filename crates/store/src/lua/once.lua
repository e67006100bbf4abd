-- Executes a host call only once, however often its actor repeats it because no answer came.
--
-- The host calls of an attempt have numbers and follow each other, so the hash of the job keeps only the last one that
-- wrote something, with its answer. A host call may come late, when nobody waits for an answer any more: after the next
-- one, or when its attempt has lost the job.
local once = {}

local read = jobs.reader('status', 'attempt', 'lease', 'given_back', 'asked')

-- Reads the host call from the next two arguments, job · claim and number of the host call; both are empty if it is not
-- repeated.
function once.take()
  local job, about = request.take_many(2)
  local claim, number = string.match(about, '^(%d+)%.(%d+)$')
  return { job = job, claim = claim, number = number }
end

-- The answer to a host call that is not to be executed: the earlier answer, 'lost' (its claim does not hold the job any
-- more) or 'over' (a later host call of the claim was answered). Nil: it is to be executed.
function once.answered(host_call)
  if host_call.job == '' then return nil end
  local job = read(host_call.job)
  if not calling.holds(job, host_call.claim) then return 'lost' end
  local claim, number, answer = string.match(job.asked or '', '^(%d+)%.(%d+) (.*)$')
  if claim ~= host_call.claim then return nil end
  if number == host_call.number then return answer end
  return tonumber(number) > tonumber(host_call.number) and 'over' or nil
end

-- Notes the answer to a host call.
function once.note(host_call, answer)
  if host_call.job == '' then return end
  commands.try('HSET', keys.job(host_call.job), 'asked', host_call.claim .. '.' .. host_call.number .. ' ' .. answer)
end

return once
