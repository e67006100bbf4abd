-- Flags: allow-oom
-- Has jobs be there that were created together (commit_jobs.lua), and enters them where those have them that they wait for.
-- ARGV  about so many of them · where one of them was staged
-- Gives 2 if that one is not there yet, 1 if there are more, else 0.
return function()
  links.enter_some(request.take_number())
  news.send_all()
  -- What stands in no list any more, because another program wrote there, comes to no place.
  if not links.has_more() then return 0 end
  return redis.call('EXISTS', keys.staged_at(request.take())) == 1 and 2 or 1
end
