-- What a script has done only once, however often its actor asks for it because no answer came.
--
-- The questions of an attempt have numbers and come one after another, so the hash of the job keeps only the last one that wrote something,
-- with its answer.
local once = {}

-- Which question this is about: the next two arguments, job · claim and number of the question; both empty where nobody asks again.
function once.take()
  local job, number = request.take_many(2)
  return { job = job, number = number }
end

-- What was answered to it before, or nil.
function once.answered(question)
  if question.job == '' then return nil end
  local number, answer = string.match(commands.try('HGET', keys.job(question.job), 'asked') or '', '^(%S+) (.*)$')
  return number == question.number and answer or nil
end

-- Notes what is answered to it. Of a job that is gone nobody asks again.
function once.note(question, answer)
  if question.job == '' or not jobs.exists(question.job) then return end
  commands.try('HSET', keys.job(question.job), 'asked', question.number .. ' ' .. answer)
end

return once
