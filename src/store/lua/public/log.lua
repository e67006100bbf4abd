-- Flags:
-- Appends a line to the log of a job, with the values of its environment masked.
-- KEYS  job
-- ARGV  owner · context · claim · 'debug', 'info', 'warn' or 'error' · text
-- Gives 'logged' · 'lost' (the claim does not hold the job any more).
local LEVELS = { debug = true, info = true, warn = true, error = true }
-- How many lines of a job are kept, about.
local LINES = 10000
-- The longest text of a line, bytes.
local LONGEST = 65536
-- How long a log is kept whose job has vanished, s.
local AT_MOST = 691200
local read = jobs.reader('status', 'attempt', 'lease', 'given_back', 'env_vars')

return function(names)
  local id, claim, level, text = calling.job_of(names[1]), request.take_number(), request.take(), request.take()
  if not id or not claim or not LEVELS[level] or not text or #text > LONGEST then
    return redis.error_reply("ERR the key is that of a job; then come its claim, debug, info, warn or error, and a text of 64 KB at most")
  end
  local job = read(id)
  if not calling.holds(job, claim) then return 'lost' end
  local key = keys.log(id)
  commands.insist('XADD', key, 'MAXLEN', '~', LINES, '*', 'level', level, 'text', masks.apply(text, job.env_vars))
  redis.call('EXPIRE', key, AT_MOST)
  return 'logged'
end
