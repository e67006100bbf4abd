#!lua flags=allow-oom
-- Takes names out of a set whose key is gone.
-- ARGV  9 set of keys   10… keys to look at
-- Gives the number taken out.
local set, gone = ARGV[9], 0
for at = 10, #ARGV do
  if redis.call('EXISTS', ARGV[at]) == 0 then gone = gone + redis.call('SREM', set, ARGV[at]) end
end
return gone
