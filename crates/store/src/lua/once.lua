-- What a script has done only once, however often its actor asks for it because no answer came.
--
-- The host calls of an attempt have numbers and come one after another, so the hash of the job keeps only the last one that wrote
-- something, with its answer. A host call may come late, when nobody waits for an answer any more: after the next one, or when its attempt
-- has lost the job.
local once = {}

local read = jobs.reader('status', 'attempt', 'lease', 'given_back', 'asked')

-- Which host call this is about: the next two arguments, job · claim and number of the host call; both empty where nobody asks again.
function once.take()
  local job, about = request.take_many(2)
  local claim, number = string.match(about, '^(%d+)%.(%d+)$')
  return { job = job, claim = claim, number = number }
end

-- What is answered to it where nothing is to be done: what was answered before, 'lost' (its claim does not hold the job any more) or
-- 'over' (a later host call of the claim was answered). Nil: it is to be done.
function once.answered(host_call)
  if host_call.job == '' then return nil end
  local job = read(host_call.job)
  if not calling.holds(job, host_call.claim) then return 'lost' end
  local claim, number, answer = string.match(job.asked or '', '^(%d+)%.(%d+) (.*)$')
  if claim ~= host_call.claim then return nil end
  if number == host_call.number then return answer end
  return tonumber(number) > tonumber(host_call.number) and 'over' or nil
end

-- Notes what is answered to it.
function once.note(host_call, answer)
  if host_call.job == '' then return end
  commands.try('HSET', keys.job(host_call.job), 'asked', host_call.claim .. '.' .. host_call.number .. ' ' .. answer)
end

return once
