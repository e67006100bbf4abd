-- Flags:
-- Writes the progress of a running job, and reports it.
-- ARGV  id · claim · progress, JSON
-- Gives 1, or 0: this server does not hold the job any more.
local read = jobs.reader('status', 'attempt', 'lease', 'given_back')

return function()
  local id, claim, progress = request.take(), request.take_number(), request.take()
  local job = read(id)
  local holds = job and job.status == 'started' and job.lease == request.server and jobs.claim_of(job.attempt, job.given_back) == claim
  if not holds then return 0 end
  redis.call('HSET', keys.job(id), 'progress', progress)
  news.progress(id, job.attempt, progress)
  return 1
end
