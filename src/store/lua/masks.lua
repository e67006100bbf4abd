-- Takes the values of a job's environment out of what actors in other languages say of it, as actor/mask.rs does for ours.
local masks = {}

-- What stands in the place of a value. Shorter ones, bytes, are no secrets; and no job that was created here has more of them.
local MASKED, SHORTEST, MOST = '***', 3, 256
-- More of them, bytes, are not read for each line.
local LONGEST = 1048576

-- The values of env_vars, also as they are written within JSON, the longest first, so that one that contains another goes whole. Nil: there
-- are too many.
local function secrets_of(env_vars)
  local is_read, variables = pcall(cjson.decode, env_vars)
  local secrets, number = {}, 0
  for _, value in pairs(is_read and type(variables) == 'table' and variables or {}) do
    number = number + 1
    if number > MOST then return nil end
    if type(value) == 'string' and #value >= SHORTEST then
      local within = string.gsub(string.sub(cjson.encode(value), 2, -2), '\\/', '/')
      secrets[#secrets + 1] = value
      if within ~= value then secrets[#secrets + 1] = within end
    end
  end
  table.sort(secrets, function(one, other) return #one > #other end)
  return secrets
end

local function without(text, secret)
  local parts, from = {}, 1
  local first, last = string.find(text, secret, from, true)
  while first do
    parts[#parts + 1], from = string.sub(text, from, first - 1), last + 1
    first, last = string.find(text, secret, from, true)
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
