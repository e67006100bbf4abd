-- Flags: allow-oom
-- Appends a line to the log of a job.
-- KEYS  job
-- ARGV  owner · context · claim · 'debug', 'info', 'warn' or 'error' · text
-- Gives 'logged' · 'dropped' (memory is full) · 'lost' (the claim does not hold the job any more).
local LEVELS = { debug = true, info = true, warn = true, error = true }
-- A job keeps about so many lines, none longer than this, bytes; and a log outlives a job that vanished by no more than this, s.
local LINES, LONGEST, AT_MOST = 10000, 65536, 691200
local read = jobs.reader('status', 'attempt', 'lease', 'given_back')

return function(names)
  local id, claim, level, text = calling.job_of(names[1]), request.take_number(), request.take(), request.take()
  if not id or not claim or not LEVELS[level] or not text or #text > LONGEST then
    return redis.error_reply("ERR the key is that of a job; then come its claim, debug, info, warn or error, and a text of 64 KB at most")
  end
  local job = read(id)
  if not job or job.status ~= 'started' or job.lease ~= request.server or jobs.claim_of(job.attempt, job.given_back) ~= claim then
    return 'lost'
  end
  if calling.is_full() then return 'dropped' end
  local key = keys.log(id)
  commands.insist('XADD', key, 'MAXLEN', '~', LINES, '*', 'level', level, 'text', text)
  redis.call('EXPIRE', key, AT_MOST)
  return 'logged'
end
