-- Flags: no-writes
-- Reads the data that is needed to process the end of a conveyor job: the job, its next children and its next
-- continuations.
-- ARGV  prefix of conveyor keys · id · maximum number of each
-- Gives {status or '', error or '', failed attempts, parent or '', the job or '', number of children, child …, continuation …}.
local try = commands.try
local read = jobs.reader('status', 'error', 'failures', 'crashes', 'dialect_parent')

return function()
  local prefix, id, most = request.take(), request.take(), request.take_number()
  local job = read(id) or {}
  local children = try('LRANGE', conveyor.job_key(prefix, id, 'children'), -most, -1) or {}
  local continuations = try('LRANGE', conveyor.job_key(prefix, id, 'onComplete'), -most, -1) or {}
  local attempts = (tonumber(job.failures) or 0) + (tonumber(job.crashes) or 0)
  local bytes = try('GET', conveyor.job_key(prefix, id)) or ''
  local answer = { job.status or '', job.error or '', tostring(attempts), job.dialect_parent or '', bytes, tostring(#children) }
  -- They are taken from the right, so the last one comes first.
  for number = #children, 1, -1 do answer[#answer + 1] = children[number] end
  for number = #continuations, 1, -1 do answer[#answer + 1] = continuations[number] end
  return answer
end
