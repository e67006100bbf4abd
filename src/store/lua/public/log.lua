-- Flags: allow-oom
-- Appends a line to the log of a job.
-- KEYS  job
-- ARGV  owner · context · claim · 'debug', 'info', 'warn' or 'error' · text
-- Gives 'logged' · 'dropped' (memory is full, or the run has logged 1 MB) · 'lost' (the claim does not hold the job any more).
local LEVELS = { debug = true, info = true, warn = true, error = true }
-- A job keeps about so many lines, none longer than this, bytes; and a log outlives a job that vanished by no more than this, s.
local LINES, LONGEST, AT_MOST = 10000, 65536, 691200
-- A run logs no more bytes than this, as one of ours by default; so many more count for a line, so that empty ones are bounded, too.
local MOST, LINE = 1048576, 32
local CUT = 'the log is cut here: the run logged more than 1 MB'
local read = jobs.reader('status', 'attempt', 'lease', 'given_back', 'log_bytes')

return function(names)
  local id, claim, level, text = calling.job_of(names[1]), request.take_number(), request.take(), request.take()
  if not id or not claim or not LEVELS[level] or not text or #text > LONGEST then
    return redis.error_reply("ERR the key is that of a job; then come its claim, debug, info, warn or error, and a text of 64 KB at most")
  end
  local job = read(id)
  if not job or job.status ~= 'started' or job.lease ~= request.server or jobs.claim_of(job.attempt, job.given_back) ~= claim then
    return 'lost'
  end
  local of, bytes = string.match(job.log_bytes or '', '^(%d+) (%d+)$')
  bytes = tonumber(of) == claim and tonumber(bytes) or 0
  if bytes > MOST or calling.is_full() then return 'dropped' end
  bytes = bytes + #text + LINE
  if bytes > MOST then level, text = 'warn', CUT end
  redis.call('HSET', keys.job(id), 'log_bytes', string.format('%.0f %.0f', claim, bytes))
  local key = keys.log(id)
  commands.insist('XADD', key, 'MAXLEN', '~', LINES, '*', 'level', level, 'text', text)
  redis.call('EXPIRE', key, AT_MOST)
  return bytes > MOST and 'dropped' or 'logged'
end
