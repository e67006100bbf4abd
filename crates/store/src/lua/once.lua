-- What a script has done only once, however often its actor asks for it because no answer came.
--
-- The questions of an attempt have numbers and come one after another, so the hash of the job keeps only the last one that wrote something,
-- with its answer. A question may come late, when nobody waits for an answer any more: after the next one, or when its attempt has lost the
-- job.
local once = {}

local read = jobs.reader('status', 'attempt', 'lease', 'given_back', 'asked')

-- Which question this is about: the next two arguments, job · claim and number of the question; both empty where nobody asks again.
function once.take()
  local job, about = request.take_many(2)
  local claim, number = string.match(about, '^(%d+)%.(%d+)$')
  return { job = job, claim = claim, number = number }
end

-- What is answered to it where nothing is to be done: what was answered before, 'lost' (its claim does not hold the job any more) or
-- 'over' (a later question of the claim was answered). Nil: it is to be done.
function once.answered(question)
  if question.job == '' then return nil end
  local job = read(question.job)
  if not calling.holds(job, question.claim) then return 'lost' end
  local claim, number, answer = string.match(job.asked or '', '^(%d+)%.(%d+) (.*)$')
  if claim ~= question.claim then return nil end
  if number == question.number then return answer end
  return tonumber(number) > tonumber(question.number) and 'over' or nil
end

-- Notes what is answered to it.
function once.note(question, answer)
  if question.job == '' then return end
  commands.try('HSET', keys.job(question.job), 'asked', question.claim .. '.' .. question.number .. ' ' .. answer)
end

return once
