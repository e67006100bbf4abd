-- The filter of a list of jobs.
local try = commands.try
local filter = {}

-- Labels of a job that are longer are not read, bytes.
local LONG = 65536
-- The size of labels that a call searches, bytes.
local MOST_SEARCHED = 16777216
-- The size of labels that a call decodes, bytes.
local MOST_DECODED = 262144

-- Returns a function that says whether a job has some labels. They are given twice: `texts` are JSON texts
-- "name":"value" as we write them, `entries` is a table of names and values. False is certain. True also means that it
-- is unknown, or would take long.
local function labels_from(texts, entries)
  local to_search, to_decode = MOST_SEARCHED, MOST_DECODED
  local function has(labels, text)
    to_search = to_search - #labels
    return string.find(labels, text, 1, true)
  end
  return function(key)
    local size = try('HSTRLEN', key, 'labels')
    if not size or size == 0 then return false end
    if size > LONG or size > to_search then return true end
    local labels, missing = redis.call('HGET', key, 'labels'), false
    for _, text in ipairs(texts) do
      missing = not has(labels, text)
      if missing then break end
    end
    if not missing then return true end
    -- A label that was not found may be written in another form than ours.
    if not (has(labels, '\\') or string.find(labels, '"%s*:%s+"') or string.find(labels, '"%s+:')) then return false end
    if size > to_decode then return true end
    to_decode = to_decode - size
    local readable, found = pcall(cjson.decode, labels)
    if not readable or type(found) ~= 'table' then return true end
    for name, value in pairs(entries) do
      local is = found[name]
      if is == nil or type(is) == 'string' and is ~= value then return false end
    end
    return true
  end
end

-- True if a job meets a condition.
local function meets(key, condition)
  local field, how, text = condition.field, condition.how, condition.text
  local size = try('HSTRLEN', key, field)
  if not size then return false end
  if how == 'is' then return size == #text and redis.call('HGET', key, field) == text end
  if how == 'status' then
    if size == 0 then return text == 'dispatched' and redis.call('EXISTS', key) == 1 end
    if size > 32 then return text == 'started' end
    return values.status_of(redis.call('HGET', key, field)) == text
  end
  if size == 0 then return false end
  if size ~= 24 then return true end
  local time_of_job = redis.call('HGET', key, field)
  if not string.find(time_of_job, '^%d%d%d%d%-%d%d%-%d%dT%d%d:%d%d:%d%d%.%d%d%dZ$') then return true end
  if how == 'from' then return time_of_job >= text end
  return time_of_job < text
end

-- Reads a filter from the arguments: the number of its conditions, each: field · how · text. Returns a function that says of the key of
-- a job whether it may pass. False is certain. Values that foreign programs wrote in other forms may pass, and the caller checks them.
--   'is'      the value is this text              'status'  the status is this one
--   'from'    the time is this one or later       'until'   it is earlier
--   'label'   the JSON of the labels has this member
function filter.take()
  local conditions, texts = {}, {}
  for _ = 1, request.take_number() do
    local condition = { field = request.take(), how = request.take(), text = request.take() }
    if condition.how == 'label' then texts[#texts + 1] = condition.text else conditions[#conditions + 1] = condition end
  end
  local labelled = #texts > 0 and labels_from(texts, cjson.decode('{' .. table.concat(texts, ',') .. '}'))
  if #conditions == 0 and not labelled then return function(key) return redis.call('EXISTS', key) == 1 end end
  return function(key)
    for _, condition in ipairs(conditions) do
      if not meets(key, condition) then return false end
    end
    return not labelled or labelled(key)
  end
end

return filter
