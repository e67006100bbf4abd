#!lua flags=allow-oom
-- Takes jobs out of an index by status that are not of it any more: they run again, or are gone.
-- ARGV  9 'error' (those that ended so) or 'left' (those of outsiders that were left long ago, and have not ended)
--       10 where to look, from the front   11 how many to look at   12 'whole' if a walk through all hours has put in what was missing, else ''
-- Gives {number looked at, number taken out}.
local failed, key, from, gone = ARGV[9] == 'error', status_key(ARGV[9]), tonumber(ARGV[10]), {}
-- The mark that nothing is missing stands in front of all. It goes with the key, whoever deletes that.
if ARGV[12] == 'whole' and redis.call('EXISTS', hours_key) == 1 then insist('ZADD', key, '-inf', '') end

local function stays(id)
  if id == '' then return true end
  local status = try('HGET', job_prefix .. id, 'status')
  return failed and status == 'error' or not failed and status and not is_final(status)
end

local ids = try('ZRANGE', key, from, from + ARGV[11] - 1) or {}
for _, id in ipairs(ids) do
  if not stays(id) then gone[#gone + 1] = id end
end
if #gone > 0 then redis.call('ZREM', key, unpack(gone)) end
-- Where there are no jobs nothing is left of it.
if try('ZCARD', key) == 1 and redis.call('ZSCORE', key, '') and redis.call('EXISTS', hours_key) == 0 then redis.call('DEL', key) end
return { #ids, #gone }
