-- Masks the values of a job's environment in texts of actors in other languages, as crates/model/src/secrets.rs does
-- for ours.
local masks = {}

-- The replacement for a value. Shorter values, bytes, are no secrets, and those below `LONG` only where they are words.
-- No job that was created here has more of them than the last number.
local MASKED, SHORTEST, LONG, MOST = '***', 3, 8, 256
-- The variable with the names of those that are no secrets, separated by commas or spaces.
local PLAIN = 'HERO_PLAIN'
-- A larger environment, bytes, is not read for each line.
local MAX_VARIABLES_BYTES = 1048576
-- The number of lines of a value that are masked one by one.
local MOST_LINES = 500

-- The maximum number of occurrences in a text, including those that are no words. A text with more is an attack.
local MOST_FOUND = 20000
-- The search looks for the first bytes of a secret. The number of bytes that are searched and compared for a text at
-- most: 64 secrets in 64 KB.
local BEGINNING, MOST_SEARCHED, MOST_COMPARED = 8, 4194304, 16777216
-- The ranges of characters beyond ASCII that count as letters, as in crates/model/src/secrecy.rs.
local LETTERS = {
  { 0xaa, 0xaa }, { 0xb5, 0xb5 }, { 0xba, 0xba }, { 0xc0, 0xd6 }, { 0xd8, 0xf6 }, { 0xf8, 0x2af }, { 0x386, 0x386 }, { 0x388, 0x38a },
  { 0x38c, 0x38c }, { 0x38e, 0x3a1 }, { 0x3a3, 0x3f5 }, { 0x3f7, 0x3ff }, { 0x400, 0x481 }, { 0x48a, 0x52f }, { 0x1e00, 0x1eff },
}

-- Adds a value to the masked ones, also in its form within JSON.
local function add(secrets, value)
  if #value < SHORTEST then return end
  local within = string.gsub(string.sub(cjson.encode(value), 2, -2), '\\/', '/')
  secrets[value], secrets[within] = true, true
end

-- The values of env_vars, and the lines of multi-line values, each as a key. Nil: there are too many.
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
  return secrets
end

-- True if the character that begins at a place of a text is a letter or a digit.
local function is_of_word(text, at)
  local first, second, third = string.byte(text, at, at + 2)
  if not first then return false end
  if first < 128 then return string.find(text, '^[%w_]', at) ~= nil end
  local code
  if first < 224 and second then
    code = (first - 192) * 64 + second - 128
  elseif first < 240 and third then
    code = (first - 224) * 4096 + (second - 128) * 64 + third - 128
  end
  for _, letters in ipairs(code and LETTERS or {}) do
    if code >= letters[1] and code <= letters[2] then return true end
  end
  return false
end

-- True if a letter or a digit ends before a place in a text, and another one begins there.
local function joins(text, at)
  if at == 1 or not is_of_word(text, at) then return false end
  local before = at - 1
  while before > 1 and at - before < 4 and string.find(text, '^[\128-\191]', before) do before = before - 1 end
  return is_of_word(text, before)
end

-- The places of secrets in a text. Nil: there are too many.
local function found_in(text, secrets)
  local found, number, compared, searched = {}, 0, 0, 0
  for secret in pairs(secrets) do
    -- The search looks for the beginning of a secret, so that near matches everywhere take no longer than real ones.
    local beginning = string.sub(secret, 1, BEGINNING)
    local first = string.find(text, beginning, 1, true)
    searched = searched + #text
    while first do
      number, compared = number + 1, compared + #secret
      if number > MOST_FOUND or compared > MOST_COMPARED then return nil end
      local last = first + #secret - 1
      local stands = string.sub(text, first, last) == secret
      if stands and (#secret >= LONG or not joins(text, first) and not joins(text, last + 1)) then found[#found + 1] = { first, last } end
      first = string.find(text, beginning, first + 1, true)
    end
    if searched > MOST_SEARCHED then return nil end
  end
  table.sort(found, function(one, other) return one[1] < other[1] end)
  return found
end

-- A text with these places replaced. Overlapping or touching places are one.
local function without(text, found)
  local parts, from = {}, 1
  for _, place in ipairs(found) do
    if #parts == 0 or place[1] > from then parts[#parts + 1] = string.sub(text, from, place[1] - 1) end
    from = math.max(from, place[2] + 1)
  end
  parts[#parts + 1] = string.sub(text, from)
  return table.concat(parts, MASKED)
end

-- A text without the values of env_vars. If there are too many to search for, the whole text is replaced.
function masks.apply(text, env_vars)
  if not env_vars or env_vars == '{}' then return text end
  local secrets = #env_vars <= MAX_VARIABLES_BYTES and secrets_of(env_vars)
  local found = secrets and found_in(text, secrets)
  return found and without(text, found) or MASKED
end

return masks
