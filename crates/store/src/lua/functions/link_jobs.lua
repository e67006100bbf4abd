-- Flags: allow-oom
-- Makes jobs exist that were created together (commit_jobs.lua), and links them to existing jobs that they wait for.
-- ARGV  number of jobs to handle, about · staging place of one of them
-- Gives 2 if that job does not exist yet, 1 if there are more, else 0.
return function()
  links.enter_some(request.take_number())
  news.send_all()
  -- A job whose entries another program has removed comes to no place.
  if not links.has_more() then return 0 end
  return redis.call('EXISTS', keys.staged_at(request.take())) == 1 and 2 or 1
end
