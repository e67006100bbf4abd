#!lua flags=allow-oom
-- Takes a post or keeps it.
-- ARGV  9 presence key   10 set of presence keys   11 incarnation   12 presence (JSON)   13 seconds it lasts   14 a dead incarnation, or ''
-- Gives {'held'} or {'taken', presence of the holder}.
local present = redis.call('EXISTS', ARGV[9]) == 1
if present then
  local text = try('GET', ARGV[9]) or ''
  local known, holder = pcall(cjson.decode, text)
  local incarnation = known and type(holder) == 'table' and holder.incarnation
  if not incarnation or incarnation == '' or incarnation ~= ARGV[11] and incarnation ~= ARGV[14] then return { 'taken', text } end
end
redis.call('SET', ARGV[9], ARGV[12], 'EX', ARGV[13])
insist('SADD', ARGV[10], ARGV[9])
return { 'held' }
