-- Flags: allow-oom
-- Appends a line to the log of a job, with the values of its environment masked.
-- KEYS  job
-- ARGV  owner · context · claim · 'debug', 'info', 'warn' or 'error' · text
-- Gives 'logged' · 'dropped' (memory is full, or the run has logged 1 MB) · 'lost' (the claim does not hold the job any more).
local LEVELS = { debug = true, info = true, warn = true, error = true }
-- The number of lines of a job that are kept, about.
local LINES = 10000
-- The maximum size of the text of a line, bytes.
local LONGEST = 65536
-- The time for which the log of a vanished job is kept, s.
local AT_MOST = 691200
-- The maximum size of what a run may log, bytes; the default of our own actors.
local MOST = 1048576
-- The size that each line counts for besides its text, bytes, so that empty lines are limited, too.
local LINE = 32
local CUT = 'the log is cut here: the run logged more than 1 MB'
local read = jobs.reader('status', 'attempt', 'lease', 'given_back', 'env_vars', 'log_bytes')

return function(names)
  local id, claim, level, text = calling.job_of(names[1]), request.take_number(), request.take(), request.take()
  if not id or not claim or not LEVELS[level] or not text or #text > LONGEST then
    return redis.error_reply("ERR the key is that of a job; then come its claim, debug, info, warn or error, and a text of 64 KB at most")
  end
  local job = read(id)
  if not calling.holds(job, claim) then return 'lost' end
  local of, bytes = string.match(job.log_bytes or '', '^(%d+) (%d+)$')
  bytes = tonumber(of) == claim and tonumber(bytes) or 0
  if bytes > MOST or calling.is_full() then return 'dropped' end
  bytes = bytes + #text + LINE
  if bytes > MOST then level, text = 'warn', CUT end
  redis.call('HSET', keys.job(id), 'log_bytes', string.format('%.0f %.0f', claim, bytes))
  local key = keys.log(id)
  commands.insist('XADD', key, 'MAXLEN', '~', LINES, '*', 'level', level, 'text', masks.apply(text, job.env_vars))
  redis.call('EXPIRE', key, AT_MOST)
  return bytes > MOST and 'dropped' or 'logged'
end
