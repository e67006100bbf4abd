-- Flags: allow-oom
-- Deletes finished jobs before their time, because memory is short. Jobs that may still be needed stay: a job with an
-- idempotency key for as long as that is known, one with a requested retention, one that ended just now, and one whose
-- descendants have not ended.
-- ARGV  index key · position to start at, from the front · number of jobs to check · 'errors' if jobs in error may go, too, or ''
-- Gives {number checked, number deleted}.
local JUST_NOW = 60000
local read = jobs.reader('status', 'retention', 'idempotency_key', 'created_at', 'finished_at', 'dialect')

local function may_go(id, job, errors)
  if not job or job.retention or not (job.status == 'finished' or errors and job.status == 'error') then return false end
  local ended = time.millis(job.finished_at)
  if not ended or ended + JUST_NOW > request.now then return false end
  local created = job.idempotency_key and (time.millis(job.created_at) or request.now)
  if created and created + jobs.IDEMPOTENCY_SECONDS * 1000 > request.now then return false end
  return not jobs.is_unsettled(id) and relations.is_closed(id)
end

return function()
  local list, from, many, errors, gone = request.take(), request.take_number(), request.take_number(), request.take() == 'errors', 0
  local ids = index.range(list, from, from + many - 1)
  for _, id in ipairs(ids) do
    local job = read(id)
    if may_go(id, job, errors) then
      layouts.erase(id, job.dialect)
      gone = gone + 1
    end
  end
  return { #ids, gone }
end
