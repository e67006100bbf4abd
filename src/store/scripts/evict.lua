#!lua flags=allow-oom
-- Deletes finished jobs before their time, because memory is short. What somebody counts on stays: a job with an idempotency key for as long as
-- that is known, one whose retention was asked for, one that ended just now, and one whose descendants have not ended.
-- ARGV  9 index key   10 where to begin, from the front   11 how many to look at   12 'errors' if those that ended in error may go, too, or ''
-- Gives {number looked at, number deleted}.
local index, from, many, gone = ARGV[9], tonumber(ARGV[10]), tonumber(ARGV[11]), 0
local JUST_NOW, errors = 60000, ARGV[12] == 'errors'

local function may_go(id)
  local job = try('HMGET', job_prefix .. id, 'status', 'retention', 'idempotency_key', 'created_at', 'finished_at')
  if not job or job[2] or not (job[1] == 'finished' or errors and job[1] == 'error') then return false end
  local ended = millis(job[5])
  if not ended or ended + JUST_NOW > now then return false end
  if job[3] and (millis(job[4]) or now) + IDEMPOTENCY_SECONDS * 1000 > now then return false end
  return not is_unsettled(id) and closed(id)
end

local ids = index_range(index, from, from + many - 1)
for _, id in ipairs(ids) do
  if may_go(id) then
    erase(id)
    gone = gone + 1
  end
end
return { #ids, gone }
