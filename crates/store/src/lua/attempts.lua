-- The attempts of a job before its last one. The field `attempts` has a line of JSON with the end of each. The end of
-- the last attempt is in the other fields of the hash. A job that ends with its first attempt has no such field.
local try = commands.try
local attempts = {}

-- The number of attempts that are kept (the newest ones), and the maximum size of an error message in one, bytes.
local MAX_ATTEMPTS, MAX_ERROR_BYTES = 16, 1024
-- The maximum size of one as JSON, in which a character may take six bytes, and of all together, bytes.
local LONGEST_LINE, LONGEST_OF_ALL = 4096, 65536
-- The number of log lines that are kept, and the time for which the log of a vanished job is kept, s; as in log.rs.
local LOG_LINES, LOG_SECONDS = '10000', 691200

local read = jobs.reader('attempts', 'actor', 'started_at', 'finished_at', 'usage', 'error', 'error_kind', 'error_line', 'error_column',
  'error_limit')

-- The first bytes of a text, without cutting a character.
local function cut(text, longest)
  if #text <= longest then return text end
  local at = longest
  while at > longest - 3 and string.find(string.sub(text, at + 1, at + 1), '[\128-\191]') do at = at - 1 end
  return string.sub(text, 1, at) .. '…'
end

-- Writes a line about a failed attempt into the log of its job.
local function log(id, attempt, message, line, column, rest)
  local place = ''
  if line and line ~= '' then place = ' (line ' .. line .. (column and column ~= '' and ', column ' .. column or '') .. ')' end
  local text = 'attempt ' .. attempt .. ' failed: ' .. cut(message, MAX_ERROR_BYTES) .. place .. rest
  if try('XADD', keys.log(id), 'MAXLEN', '~', LOG_LINES, '*', 'level', 'error', 'text', text) then
    redis.call('EXPIRE', keys.log(id), LOG_SECONDS)
  end
end

-- An attempt as a line of JSON. The message is cut until the line is short enough. Without a message, only a foreign
-- program can have made it long.
local function line_of(number, one)
  local message, longest = one.error, MAX_ERROR_BYTES
  local text = values.json(one)
  while text and #text > LONGEST_LINE - 64 and longest > 16 do
    longest = math.floor(longest / 2)
    local short = { error = message and cut(message, longest) }
    for name, value in pairs(one) do short[name] = short[name] or #value <= longest and value or nil end
    text = values.json(short)
  end
  return text and '{"attempt":' .. values.digits(number) .. ',' .. string.sub(text, 2) .. '\n'
end

-- Keeps the log of a job that goes on as long as that of a vanished job.
function attempts.keep_log(id) redis.call('EXPIRE', keys.log(id), LOG_SECONDS) end

-- Records the end of an attempt that another one is about to follow, from the hash of its job, which already has that
-- end. If the actor died, the hash says nothing of it, and `death` is the message. `was_last`: no other attempt was to
-- follow.
function attempts.keep(id, attempt, status, death, was_last)
  local job = read(id)
  local number = tonumber(attempt) or 0
  if not job or number < 1 then return end
  local known = job.attempts or ''
  -- Only a foreign program writes more than that. The newest attempts are kept.
  if #known > LONGEST_OF_ALL then known = string.match(string.sub(known, -LONGEST_OF_ALL), '\n(.*)$') or '' end
  local is_logged = was_last and known ~= ''
  -- The job was stopped, for example, while it waited for the next attempt.
  if number <= (tonumber(string.match(known, '"attempt":(%d+)[^\n]*\n$')) or 0) then return end
  local function some(value) return value and value ~= '' and value or nil end
  local ended_at = was_last and some(job.finished_at) or request.now_text
  local one = { actor = some(job.actor), started_at = some(job.started_at), ended_at = ended_at }
  if death then
    one.error, one.error_kind = death, 'crashed'
  else
    one.usage = some(job.usage)
    if status == 'error' then
      one.error, one.error_kind = cut(job.error or '', MAX_ERROR_BYTES), some(job.error_kind)
      one.error_line, one.error_column, one.error_limit = some(job.error_line), some(job.error_column), some(job.error_limit)
    end
  end
  local line = line_of(number, one)
  if not line then return end
  known = known .. line
  local _, many = string.gsub(known, '\n', '')
  while many > MAX_ATTEMPTS or #known > LONGEST_OF_ALL do
    known, many = string.match(known, '^[^\n]*\n(.*)$') or '', many - 1
  end
  redis.call('HSET', keys.job(id), 'attempts', known)
  if not one.error or is_logged then return end
  log(id, attempt, one.error, one.error_line, one.error_column, was_last and '' or '; it is tried again')
end

-- Writes the failure of the last attempt into the log of a job that was tried several times.
function attempts.log_last(id, attempt, failure)
  log(id, attempt, failure.message, failure.line, failure.column, '')
end

return attempts
