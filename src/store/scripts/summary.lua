#!lua flags=no-writes
-- Reads fields of jobs, and what is long only in part: a text is cut, anything else is left out. Writes nothing.
-- ARGV  9 no value is longer   10 bytes after which no further job is read   11 number of fields   12… fields · ids
-- Gives for each job that was read {} (there is none) or {fields that are not whole, between spaces, then the values}: at least one.
local short, most, last = tonumber(ARGV[9]), tonumber(ARGV[10]), 11 + tonumber(ARGV[11])
local fields, given, answers = { unpack(ARGV, 12, last) }, 0, {}

-- A longer text is not even read to be cut: nothing of it is given. A hash that takes no more is read as a whole.
local READ, SMALL = 65536, math.max(8192, short)
local TEXTS = { script = true, output = true, error = true, name = true, status = true }

-- The beginning of a text, not into the middle of a character.
local function cut(text)
  local at = short
  while at > short - 3 and string.find(string.sub(text, at + 1, at + 1), '[\128-\191]') do at = at - 1 end
  return string.sub(text, 1, at)
end

local function read(key)
  local length, partial = try('HLEN', key), {}
  if (length or 0) == 0 then return {} end
  local values
  -- A few values tell exactly how large a hash of few fields is.
  if length <= 64 and (try('MEMORY', 'USAGE', key, 'SAMPLES', 64) or math.huge) <= SMALL then
    values = redis.call('HMGET', key, unpack(fields))
  end
  local left = values and math.huge or most
  values = values or {}
  for place, field in ipairs(fields) do
    local value = values[place]
    local size = value == nil and redis.call('HSTRLEN', key, field) or value and #value or 0
    if size > math.min(short, left) then
      partial[#partial + 1] = field
      local kept = TEXTS[field] and short <= left and size <= READ
      if kept and value == nil then given = given + size end
      value = kept and cut(value or redis.call('HGET', key, field)) or TEXTS[field] and ''
    elseif value == nil then
      value = redis.call('HGET', key, field)
    end
    values[place] = value or false
    if value then given, left = given + #value, left - #value end
  end
  return { table.concat(partial, ' '), unpack(values, 1, #fields) }
end

for at = last + 1, #ARGV do
  answers[#answers + 1] = read(job_prefix .. ARGV[at])
  if given >= most then break end
end
return answers
