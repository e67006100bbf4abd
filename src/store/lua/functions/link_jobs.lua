-- Flags: allow-oom
-- Enters jobs that were created together (commit_jobs.lua) where those have them that they wait for.
-- ARGV  about so many of them
-- Gives 1 if there are more, else 0.
return function()
  links.enter_some(request.take_number())
  news.send_all()
  return links.has_more() and 1 or 0
end
