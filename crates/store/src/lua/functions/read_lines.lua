-- Flags: no-writes
-- Reads lines of a job's log, up to the size of a page. Writes nothing.
-- ARGV  job · cursor after which to read, or '' · maximum number of lines · maximum size, bytes; the first line always fits
-- Gives whether the line at the cursor exists (1 or 0), whether the page is full (1 or 0), and of each line its cursor,
-- level and text.

-- The size of a line besides its text, bytes.
local LINE = 64
-- The maximum size of a text, bytes: no line of a script of ours is cut.
local LONGEST = 262144
-- The maximum size of a level, bytes.
local LONGEST_LEVEL = 16

-- An entry of the stream as a line with its size. Foreign programs write entries, too.
local function line_of(entry)
  local cursor, fields = unpack(entry)
  local line = { cursor = cursor, level = '', text = '', size = LINE + #cursor }
  for at = 1, #fields, 2 do
    local field, value = fields[at], fields[at + 1]
    if field == 'level' then line.level = string.sub(value, 1, LONGEST_LEVEL) elseif field == 'text' then line.text = value end
    line.size = line.size + #field + #value
  end
  if #line.text > LONGEST then
    local kept = string.gsub(string.sub(line.text, 1, LONGEST), '[\192-\255][\128-\191]*$', '')
    line.text = kept .. '… (' .. #line.text .. ' bytes, cut)'
  end
  return line
end

return function()
  local key, cursor, lines, room = keys.log(request.take()), request.take(), request.take_number(), request.take_number()
  local there, full, found, longest, from, step = 0, 0, {}, 1, cursor == '' and '-' or cursor, 1

  -- Adds a line to the page. False: it is full.
  local function put(line)
    longest = math.max(longest, line.size)
    if line.size > room and #found > 0 then return false end
    found[#found + 1], found[#found + 2], found[#found + 3] = line.cursor, line.level, line.text
    room, lines = room - line.size, lines - 1
    return lines > 0 and room > 0
  end

  while full == 0 do
    local entries = commands.try('XRANGE', key, from, '+', 'COUNT', step) or {}
    for _, entry in ipairs(entries) do
      local line = line_of(entry)
      if line.cursor == cursor then
        there = 1
      elseif not put(line) then
        full = 1
        break
      end
      from = '(' .. line.cursor
    end
    if #entries < step then break end
    -- As many as seem to fit: the others are read again for the next page.
    step = math.max(1, math.min(step * 4, lines, math.floor(room / longest)))
  end
  return { there, full, unpack(found) }
end
