#!lua flags=allow-oom
-- Leaves a post, if this incarnation holds it.
-- ARGV  9 presence key   10 set of presence keys   11 incarnation
local known, holder = pcall(cjson.decode, try('GET', ARGV[9]) or '')
if known and type(holder) == 'table' and holder.incarnation == ARGV[11] then
  redis.call('DEL', ARGV[9])
  redis.call('SREM', ARGV[10], ARGV[9])
end
return 'OK'
