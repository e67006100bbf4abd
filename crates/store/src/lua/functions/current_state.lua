-- Flags: no-writes
-- Reads the current state of a job, and the position of the event stream at that moment.
-- ARGV  id
-- Gives {} (missing) or {id of the newest event, status, attempt, time of the last change, error kind, progress}.
local read = jobs.reader('status', 'attempt', 'updated_at', 'error_kind', 'progress', 'id')

return function()
  local id = request.take()
  local job = read(id)
  if not job or not (job.status or job.id) and not jobs.exists(id) then return {} end
  local newest = unpack(redis.call('XREVRANGE', keys.events, '+', '-', 'COUNT', 1))
  return { newest and newest[1] or '0-0', job.status, job.attempt, job.updated_at, job.error_kind, job.progress }
end
