#!lua flags=allow-oom
-- Has keys in a set of ours, where those are noted that are there.
-- ARGV  9 set of keys   10… keys
-- Gives the number that was missing.
local set, missing = ARGV[9], 0
for at = 10, #ARGV do
  -- Nothing is written that says nothing new.
  if try('SISMEMBER', set, ARGV[at]) ~= 1 then missing = missing + insist('SADD', set, ARGV[at]) end
end
return missing
