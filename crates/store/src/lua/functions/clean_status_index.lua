-- Flags: allow-oom
-- Removes jobs from an index by status that do not have that status any more: they run again, or are gone.
-- ARGV  'error' (jobs that ended in error) or 'left' (jobs of foreign programs that were left long ago, and have not ended)
--       · position to start at, from the front · number of jobs to check
--       · 'whole' if a walk through all hours has added the missing ones, else ''
-- Gives {number checked, number removed}.
local try = commands.try

local function stays(id, failed)
  if id == '' then return true end
  local status = jobs.status(id)
  return failed and status == 'error' or not failed and status and not values.is_final(status)
end

return function()
  local status, from, many, is_whole = request.take(), request.take_number(), request.take_number(), request.take() == 'whole'
  local key, gone = keys.index_of_status(status), {}
  -- The mark that nothing is missing is the first member. It is deleted together with the key.
  if is_whole and redis.call('EXISTS', keys.hours) == 1 then commands.insist('ZADD', key, '-inf', '') end
  local ids = try('ZRANGE', key, from, from + many - 1) or {}
  for _, id in ipairs(ids) do
    if not stays(id, status == 'error') then gone[#gone + 1] = id end
  end
  if #gone > 0 then redis.call('ZREM', key, unpack(gone)) end
  -- Without jobs, the mark is removed, too.
  if try('ZCARD', key) == 1 and redis.call('ZSCORE', key, '') and redis.call('EXISTS', keys.hours) == 0 then redis.call('DEL', key) end
  return { #ids, #gone }
end
