#!lua flags=allow-oom
-- Says how a job ended, or has this server told when it does.
-- ARGV  9 id   10 'only look' or ''   11 bytes: a longer output is not given
-- Gives {} (missing), {status, 'long'} or {status, output, then the values of RESULT_FIELDS, then 'new' if an outsider wrote it and nobody has noticed}.
local key = job_prefix .. ARGV[9]
local RESULT_FIELDS = { 'output_format', 'attempt', 'started_at', 'finished_at', 'usage', 'error', 'error_kind', 'error_line', 'error_column', 'error_stack', 'error_limit' }
local function read() return try('HMGET', key, 'status', 'origin', 'id', 'reply', unpack(RESULT_FIELDS)) end
local job = read()
if not job or not (job[1] or job[3]) and redis.call('EXISTS', key) == 0 then return {} end
local status, origin = job[1] or 'dispatched', job[2] or ''
if is_final(status) and is_unsettled(ARGV[9]) then
  -- A foreign actor ended it, and nobody has noticed yet.
  status = settle(ARGV[9], status)
  job = read()
  flush()
  tell_own()
end
if ARGV[10] == '' and not is_final(status) and not string.find(' ' .. origin .. ' ', ' ' .. server .. ' ', 1, true) and #origin < 1024 then
  redis.call('HSET', key, 'origin', origin == '' and server or origin .. ' ' .. server)
end
if job[4] == 'none' and is_final(status) then
  -- A foreign actor that ended it may have pushed a reply that nobody takes.
  redis.call('DEL', reply_prefix .. ARGV[9])
end
-- One that a foreign actor ended is kept as long as others.
if is_final(status) and redis.call('TTL', key) == -1 and redis.call('HEXISTS', key, 'rel') == 0 then
  redis.call('EXPIRE', key, math.ceil(tonumber(ARGV[status == 'finished' and 6 or 7])))
end
if status == 'finished' and redis.call('HSTRLEN', key, 'output') > tonumber(ARGV[11]) then return { status, 'long' } end
local answer = { status, status == 'finished' and redis.call('HGET', key, 'output'), unpack(job, 5, 15) }
if ARGV[10] == '' and not is_final(status) and not is_known(ARGV[9]) then answer[#RESULT_FIELDS + 3] = 'new' end
return answer
