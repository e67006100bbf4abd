-- Flags: allow-oom
-- Notes that this server lives although its actors have lost their registrations.
-- ARGV  key · lifetime, s
-- Gives 'OK'.
return function()
  redis.call('SET', request.take(), '1', 'EX', request.take())
  return 'OK'
end
