-- Takes a post or keeps it.
-- ARGV  9 presence key   10 set of presence keys   11 incarnation   12 presence (JSON)   13 seconds it lasts
-- Gives {'held'} or {'taken', presence of the holder}.
local present = try('GET', ARGV[9])
if present then
  local known, holder = pcall(cjson.decode, present)
  if not known or type(holder) ~= 'table' or holder.incarnation ~= ARGV[11] then return { 'taken', present } end
end
redis.call('SET', ARGV[9], ARGV[12], 'EX', ARGV[13])
redis.call('SADD', ARGV[10], ARGV[9])
return { 'held' }
