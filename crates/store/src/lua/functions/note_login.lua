-- Flags: allow-oom
-- Notes whether callers have to log in, so that actors of other processes check the rights of the callers of their
-- jobs.
-- ARGV  'on' or 'off'
-- Gives 1.
return function()
  if request.take() == 'on' then
    commands.insist('HSET', keys.access, 'login', '1')
  else
    commands.insist('HSET', keys.access, 'login', '0')
  end
  return 1
end
