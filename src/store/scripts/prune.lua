-- Takes ids out of an hour's index whose job is gone.
-- ARGV  9 index key   10 where to look, from the front   11 how many to look at
-- Gives {number looked at, number taken out}.
local index, from, many = ARGV[9], tonumber(ARGV[10]), tonumber(ARGV[11])
local ids, gone = redis.call('LRANGE', index, from, from + many - 1), 0
for at, id in ipairs(ids) do
  if redis.call('EXISTS', job_prefix .. id) == 0 then
    gone = gone + 1
    redis.call('LSET', index, from + at - 1, '')
  end
end
-- LREM stops after the last one marked, so this never walks past the part looked at.
if gone > 0 then redis.call('LREM', index, gone, '') end
return { #ids, gone }
