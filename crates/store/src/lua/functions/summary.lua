-- Flags: no-writes
-- Reads fields of jobs, and only parts of long ones: a text is cut, anything else is left out. Writes nothing.
-- ARGV  maximum size of a value · bytes after which no further job is read · number of fields · fields · ids …
-- Gives for each job that was read {} (it does not exist) or {fields that are not whole, between spaces, then the
-- values}: at least one. The prerequisites of a single job are all it has, also those that were added beside the text.
local try = commands.try

-- The size above which a text is not even read to be cut, bytes.
local READ = 65536
-- The memory up to which a hash is read as a whole, bytes.
local SMALL = 8192
-- The number of fields up to which a hash is read as a whole.
local FEW = 64
local TEXTS = { script = true, output = true, error = true, name = true, status = true }

-- The beginning of a text, without cutting a character.
local function cut(text, short)
  local at = short
  while at > short - 3 and string.find(string.sub(text, at + 1, at + 1), '[\128-\191]') do at = at - 1 end
  return string.sub(text, 1, at)
end

-- The text of the prerequisites of a job, with those that were added in fields of their own.
local function all_prerequisites(id, key)
  if not try('HGET', key, 'more_prerequisites') or redis.call('HSTRLEN', key, 'prerequisites') > READ then return nil end
  local text, added = redis.call('HGET', key, 'prerequisites') or '[]', relations.added_prerequisites(id)
  if #added == 0 then return nil end
  -- A foreign program may have written anything.
  if text ~= '[]' and string.sub(text, -2) ~= '"]' then return nil end
  return (text == '[]' and '["' or string.sub(text, 1, -2) .. ',"') .. table.concat(added, '","') .. '"]'
end

-- Reads a job. Returns its answer and the number of bytes that were read. `alone`: it is the only one.
local function read(id, fields, short, most, alone)
  local key = keys.job(id)
  local length, partial, given = try('HLEN', key), {}, 0
  if (length or 0) == 0 then return {}, 0 end
  local list
  -- A sample of this size tells exactly how large a hash with few fields is.
  if length <= FEW and (try('MEMORY', 'USAGE', key, 'SAMPLES', FEW) or math.huge) <= math.max(SMALL, short) then
    list = redis.call('HMGET', key, unpack(fields))
  end
  local left = list and math.huge or most
  list = list or {}
  for at, field in ipairs(fields) do
    local value = alone and field == 'prerequisites' and all_prerequisites(id, key) or list[at]
    local size = value == nil and redis.call('HSTRLEN', key, field) or value and #value or 0
    if size > math.min(short, left) then
      partial[#partial + 1] = field
      local kept = TEXTS[field] and short <= left and size <= READ
      if kept and value == nil then given = given + size end
      value = kept and cut(value or redis.call('HGET', key, field), short) or TEXTS[field] and ''
    elseif value == nil then
      value = redis.call('HGET', key, field)
    end
    list[at] = value or false
    if value then given, left = given + #value, left - #value end
  end
  return { table.concat(partial, ' '), unpack(list, 1, #fields) }, given
end

return function()
  local short, most, fields, answers, given = request.take_number(), request.take_number(), {}, {}, 0
  for at = 1, request.take_number() do fields[at] = request.take() end
  local alone = request.at + 1 == #request.argv
  while request.has_more() and given < most do
    local answer, bytes = read(request.take(), fields, short, most, alone)
    answers[#answers + 1], given = answer, given + bytes
  end
  return answers
end
