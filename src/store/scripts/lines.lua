#!lua flags=no-writes
-- Reads lines of a job's log, no more than fit on a page. Writes nothing.
-- ARGV  9 job   10 cursor behind which to read, or ''   11 the most lines   12 the most bytes; the first line always finds room
-- Gives whether the line at the cursor is there (1 or 0), whether the page is full (1 or 0), and of each line its cursor, level and text.
local key, cursor, lines, room = log_key(ARGV[9]), ARGV[10], tonumber(ARGV[11]), tonumber(ARGV[12])
local answer, longest, from, step = { 0, 0 }, 1, cursor == '' and '-' or cursor, 1

-- What a line takes besides its text, and the longest text: no line of a script of ours is cut.
local LINE, LONGEST = 64, 262144

-- The values of an entry that make a line, and its size. Outsiders write entries, too.
local function line(entry)
  local level, text, size = '', '', LINE + #entry[1]
  for at = 1, #entry[2], 2 do
    local field, value = entry[2][at], entry[2][at + 1]
    if field == 'level' then level = string.sub(value, 1, 16) elseif field == 'text' then text = value end
    size = size + #field + #value
  end
  if #text > LONGEST then
    text = string.gsub(string.sub(text, 1, LONGEST), '[\192-\255][\128-\191]*$', '') .. '… (' .. #text .. ' bytes, cut)'
  end
  return level, text, size
end

-- Puts an entry onto the page. False: it is full.
local function put(entry)
  local level, text, size = line(entry)
  local is_first = #answer == 2
  longest = math.max(longest, size)
  if size > room and not is_first then return false end
  answer[#answer + 1], answer[#answer + 2], answer[#answer + 3] = entry[1], level, text
  room, lines = room - size, lines - 1
  return lines > 0 and room > 0
end

while answer[2] == 0 do
  local entries = try('XRANGE', key, from, '+', 'COUNT', step) or {}
  for _, entry in ipairs(entries) do
    if entry[1] == cursor then
      answer[1] = 1
    elseif not put(entry) then
      answer[2] = 1
      break
    end
    from = '(' .. entry[1]
  end
  if #entries < step then break end
  -- As many as seem to fit: what does not is read again for the next page.
  step = math.max(1, math.min(step * 4, lines, math.floor(room / longest)))
end
return answer
