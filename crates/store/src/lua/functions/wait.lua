-- Flags: allow-oom
-- Reports the end of a job, or makes this server learn of it when it comes.
-- ARGV  id · 'only look' or '' · maximum size of the output that is returned, bytes
-- Gives {} (missing), {status, 'long'} or {status, output, then the values of RESULT_FIELDS, then 'new' if a foreign program wrote it and
-- nobody has discovered it}.
local try = commands.try
local read = jobs.reader('status', 'origin', 'id', 'reply')

local RESULT_FIELDS = { 'output_format', 'attempt', 'started_at', 'finished_at', 'usage', unpack(jobs.ERROR) }
-- The maximum size of the names of the servers that wait for a job, bytes.
local LONGEST_ORIGIN = 1024

-- Makes this server learn of the end of a job.
local function stand_by(key, origin)
  if #origin >= LONGEST_ORIGIN or string.find(' ' .. origin .. ' ', ' ' .. request.server .. ' ', 1, true) then return end
  redis.call('HSET', key, 'origin', origin == '' and request.server or origin .. ' ' .. request.server)
end

return function()
  local id, only_looks, longest = request.take(), request.take() ~= '', request.take_number()
  local key = keys.job(id)
  local job = read(id)
  if not job or not (job.status or job.id) and not jobs.exists(id) then return {} end
  local status = job.status or 'dispatched'
  if values.is_final(status) and jobs.is_unsettled(id) then
    -- A foreign actor ended it, and nobody has seen that yet.
    status = foreign.settle(id, status)
    news.send_all()
  end
  if not only_looks and not values.is_final(status) then stand_by(key, job.origin or '') end
  if jobs.wants_no_reply(job) and values.is_final(status) then
    -- A foreign actor that ended it may have pushed a reply that nobody reads.
    redis.call('DEL', keys.reply(id))
  end
  -- A job that a foreign actor ended is kept as long as others.
  if values.is_final(status) and redis.call('TTL', key) == -1 and redis.call('HEXISTS', key, 'rel') == 0 then
    redis.call('EXPIRE', key, math.ceil(tonumber(status == 'finished' and request.keep_finished or request.keep_error)))
  end
  if status == 'finished' and redis.call('HSTRLEN', key, 'output') > longest then return { status, 'long' } end
  local result = try('HMGET', key, unpack(RESULT_FIELDS))
  local answer = { status, status == 'finished' and redis.call('HGET', key, 'output'), unpack(result, 1, #RESULT_FIELDS) }
  if not only_looks and not values.is_final(status) and not foreign.is_known(id) then answer[#RESULT_FIELDS + 3] = 'new' end
  return answer
end
