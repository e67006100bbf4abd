-- Texts with lines of jobs that were created together and are still to be entered where those have them that they wait for: 'dependents' or
-- 'onComplete' · the other one · ids of those that wait. The hash of a job says so already, so that it waits for the other in any case. An
-- end of that one which comes before the line counts when the line comes.
local try, insist = commands.try, commands.insist
local links = {}

local read = jobs.reader('status', 'rel')

local function enter(line)
  local what, other, rest = string.match(line, '^(%a+) (%S+) (.+)$')
  local ids = {}
  for id in string.gmatch(rest or '', '%S+') do ids[#ids + 1] = id end
  if #ids == 0 or what ~= 'dependents' and what ~= 'onComplete' then return 0 end
  local job = read(other) or {}
  if job.status or jobs.is_job(other) then
    relations.enter_all(ids, what, other, job.status, job.rel)
  else
    -- It was deleted after they were created.
    insist('RPUSH', keys.relatives(other, what), unpack(ids))
    ends.release(other, 'deleted', '-')
  end
  return #ids
end

-- Enters so many of these jobs, and those of one text more at most. Gives how many that were.
function links.enter_some(most)
  local done = 0
  while done < most do
    local text = try('LPOP', keys.linking)
    if not text then break end
    -- A line counts, too.
    for line in string.gmatch(text, '[^\n]+') do done = done + 1 + enter(line) end
  end
  return done
end

function links.has_more() return redis.call('EXISTS', keys.linking) == 1 end

return links
