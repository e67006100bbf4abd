-- Takes the values of a job's environment out of what actors in other languages say of it, as model/secrets.rs does for ours.
local masks = {}

-- What stands in the place of a value. Shorter ones, bytes, are no secrets, and those below `LONG` only where they stand as words; and no
-- job that was created here has more of them.
local MASKED, SHORTEST, LONG, MOST = '***', 3, 8, 256
-- The variable that names those that are no secrets, with commas or spaces between.
local PLAIN = 'HERO_PLAIN'
-- More of them, bytes, are not read for each line.
local LONGEST = 1048576
-- Of how many lines values are known one by one.
local MOST_LINES = 500

-- Adds a value to those that are masked, also as it is written within JSON.
local function add(secrets, value)
  if #value < SHORTEST then return end
  local within = string.gsub(string.sub(cjson.encode(value), 2, -2), '\\/', '/')
  secrets[#secrets + 1] = value
  if within ~= value then secrets[#secrets + 1] = within end
end

-- The values of env_vars, and the lines of those that have several, the longest first, so that one that contains another goes whole. Nil:
-- there are too many.
local function secrets_of(env_vars)
  local is_read, variables = pcall(cjson.decode, env_vars)
  variables = is_read and type(variables) == 'table' and variables or {}
  local secrets, number, lines, plain = {}, 0, 0, { [PLAIN] = true }
  for name in string.gmatch(type(variables[PLAIN]) == 'string' and variables[PLAIN] or '', '[^, ]+') do plain[name] = true end
  for name, value in pairs(variables) do
    number = number + 1
    if number > MOST then return nil end
    if type(value) == 'string' and not plain[name] then
      add(secrets, value)
      for line in string.gmatch(string.find(value, '[\r\n]') and value or string.match(value, '^%s*(.-)%s*$'), '[^\r\n]+') do
        line = string.match(line, '^%s*(.-)%s*$')
        if lines < MOST_LINES and line ~= value then
          lines = lines + 1
          add(secrets, line)
        end
      end
    end
  end
  table.sort(secrets, function(one, other) return #one > #other end)
  return secrets
end

-- Whether a letter or a digit ends before a place in a text, and another one begins there. Bytes of other scripts count as letters.
local function joins(text, at)
  return string.find(string.sub(text, at - 1, at - 1), '[%w_\128-\255]') and string.find(string.sub(text, at, at), '[%w_\128-\255]')
end

local function without(text, secret)
  local parts, from, is_short = {}, 1, #secret < LONG
  local first, last = string.find(text, secret, 1, true)
  while first do
    if is_short and (joins(text, first) or joins(text, last + 1)) then
      first, last = string.find(text, secret, first + 1, true)
    else
      parts[#parts + 1], from = string.sub(text, from, first - 1), last + 1
      first, last = string.find(text, secret, from, true)
    end
  end
  parts[#parts + 1] = string.sub(text, from)
  return table.concat(parts, MASKED)
end

-- A text without the values of env_vars. Where there are too many to look for, nothing of it is left.
function masks.apply(text, env_vars)
  if not env_vars or env_vars == '{}' then return text end
  local secrets = #env_vars <= LONGEST and secrets_of(env_vars)
  for _, secret in ipairs(secrets or {}) do text = without(text, secret) end
  return secrets and text or MASKED
end

return masks
