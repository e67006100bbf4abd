-- Reads texts and numbers that foreign programs may have written.
local values = {}

-- A hundred years, s.
local LONGEST_KEPT = 3155760000

-- A number from 0 on that a foreign program may have written.
function values.number(text, default)
  local value = tonumber(text)
  if not value or value ~= value or value < 0 or value == math.huge then return default end
  return value
end

-- The maximum number of retries of a job, from a value that a foreign program may have written. As in `get_job`, an
-- invalid value is 0.
function values.retries(text)
  local retries = text and string.match(text, '^%+?(%d+)$')
  retries = retries and tonumber(retries)
  return retries and retries <= 4294967295 and retries or 0
end

-- The time for which something is kept, s, from a value that a foreign program may have written: a whole number, from 1
-- on. Nil: EXPIRE would refuse it.
function values.seconds_kept(text)
  local seconds = tonumber(text)
  return seconds and seconds >= 0 and seconds <= LONGEST_KEPT and math.max(math.ceil(seconds), 1) or nil
end

-- A whole number in digits: Redis takes long to write a Lua number that a command gets as it is.
function values.digits(number) return string.format('%.0f', number) end

-- A value as JSON. Nil: it cannot be written, because it contains an invalid number (1e999 is read as infinite), or
-- nests too deep.
function values.json(value)
  local written, text = pcall(cjson.encode, value)
  return written and text or nil
end

function values.is_uuid(id)
  return #id == 36 and string.find(id, '^%x+%-%x%x%x%x%-%x%x%x%x%-%x%x%x%x%-%x+$') == 1 and string.byte(id, 9) == 45
end

-- True if a text has the length and the characters of a script type.
function values.is_name(text) return text and #text <= 128 and string.find(text, '^[%w_.-]+$') end

-- True if these may name an actor: its script type, its group, and the digits of its number.
function values.is_actor(script_type, group, instance)
  return values.is_name(script_type) and values.is_name(group) and instance and #instance <= 9
end

local STATUSES = {
  created = true, scheduled = true, waiting_for_prerequisites = true, dispatched = true, started = true, finished = true, error = true,
}

-- The status for the word in the hash of a job. A foreign actor that runs a job may have a word of its own for that.
function values.status_of(word)
  if not word or word == '' then return 'dispatched' end
  return STATUSES[word] and word or 'started'
end

function values.is_final(status) return status == 'finished' or status == 'error' end

-- True if a job with this status has not begun: no actor was able to take it since it was created or retried.
function values.is_waiting(status) return status == 'created' or status == 'scheduled' or status == 'waiting_for_prerequisites' end

-- The ids in a JSON list. Anything else has none.
function values.listed(text)
  local ids, seen = {}, {}
  for id in string.gmatch(text or '', '"([^"]*)"') do
    if not seen[id] then
      seen[id] = true
      ids[#ids + 1] = id
    end
  end
  return ids
end

-- Returns a function that makes a table with these names from a list of values. It is compiled once, so that no call
-- looks up names.
function values.naming(names)
  local fields = {}
  for at, name in ipairs(names) do fields[at] = name .. ' = list[' .. at .. ']' end
  return loadstring('local list = ... return { ' .. table.concat(fields, ', ') .. ' }')
end

-- Returns a function that joins this number of texts of a list, copying each once: table.concat copies long ones again
-- and again.
function values.joining(many)
  local texts = {}
  for at = 1, many do texts[at] = 'list[' .. at .. ']' end
  return loadstring('local list = ... return ' .. table.concat(texts, ' .. '))
end

return values
