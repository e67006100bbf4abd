-- What is still to be done of groups of jobs that were created together (commit_jobs.lua): `keys.linking` has the groups, and `keys.lines`
-- of each has texts of lines:
--   'created' · where it is staged · its id · a letter · until when it is kept unless somebody starts it, ms · and if it has an idempotency
--     key: digest of caller and key · digest of its parameters. The letter: 'n' (nobody can know the id), 'r' (others may lead to it
--     already), 'o' (others may have the id), 'u' (others may, and an earlier one left something for readers)
--   'dependents' or 'onComplete' · another job · ids of those that wait for it. Their hashes say so already, so that they wait in any
--     case. An end of that one which comes before the line counts when the line comes.
-- `keys.group` has how many are staged (`many`), and the first kind of line by the keys of those that others could ask for, of the job and
-- of its idempotency key: whoever asks has the job be there first.
local try, insist = commands.try, commands.insist
local links = {}

-- For how long a group is staged after its last slice, ms, and how long its keys last if it is lost from those, s.
links.STAGED, links.STAGED_SECONDS = 20000, 2592000
-- How long a job is kept at least that ended while those were staged that wait for it, s: they find it there when they are entered.
links.AWAITED_SECONDS = 300
-- The most jobs of a group; and how many that were staged a call takes away.
links.MOST = 1000
local MOST_TAKEN = 250
-- How many jobs outside are let go by a call, about; a line has up to as many as hold_dependents.lua is given.
local LET_GO = 64
-- How many ids a line has at most, and how long a text is, bytes. What another program made longer is cut, or left out.
local MOST_IN_LINE, LONGEST = 64, 65536
-- How many groups are staged at a time in a context, at most.
local MOST_STAGED = 64
-- How many groups that were created are looked into. There are no more of which something is still to be done.
local MOST_LINKED = 4
-- So many digits a time in a line has at most.
local LONGEST_TIME = 15
-- Others count as listed when they were staged, if that is not longer ago, ms.
local NEAR = 1000

local read = jobs.reader('status', 'rel')

-- The jobs of some lines that are not at their places yet. Each key that `show` writes to is looked for before the first is written: an
-- error of the hash slot leaves all of them, and they are shown by the next call.
local function unshown(lines)
  local found, index = {}, keys.index(request.now_text)
  redis.call('EXISTS', keys.scheduled, index, keys.hours, keys.time_offsets, keys.events)
  for _, line in ipairs(lines) do
    local place, id, letter, at, digest, params = string.match(line, '^created (%S+) (%S+) (%a) (%d+) ?(%S*) ?(%S*)$')
    -- Another program wrote a time that is none. Redis would refuse it, when others of the text are at their places and in no list yet.
    if place and #at <= LONGEST_TIME and redis.call('EXISTS', keys.staged_at(place)) == 1 then
      redis.call('EXISTS', keys.job(id), digest ~= '' and keys.idempotency(digest) or keys.job(id))
      found[#found + 1] = { from = keys.staged_at(place), id = id, letter = letter, at = at, digest = digest, params = params }
    end
  end
  return found, index
end

-- Has jobs be there that were created, by their lines: all but those that are already.
local function show(lines)
  local found, index = unshown(lines)
  if #found == 0 then return end
  local ids, entries = {}, {}
  for at, job in ipairs(found) do
    redis.call('RENAME', job.from, keys.job(job.id))
    redis.call('PERSIST', keys.job(job.id))
    if job.letter == 'u' then jobs.clear_leftovers(job.id) end
    if job.digest ~= '' then
      insist('HSET', keys.idempotency(job.digest), 'job', job.id, 'digest', job.params)
      redis.call('EXPIRE', keys.idempotency(job.digest), jobs.IDEMPOTENCY_SECONDS)
    end
    ids[at], entries[2 * at - 1], entries[2 * at] = job.id, job.at, job.id
  end
  insist('ZADD', keys.scheduled, unpack(entries))
  jobs.list_in(index, unpack(ids))
  local behind = request.now - (time.millis(try('HGET', keys.job(ids[1]), 'created_at')) or request.now)
  if behind > NEAR then jobs.note_offset(index, -behind) end
  news.created_together(ids)
end

-- The groups of which something is still to be done.
local function linked() return try('LRANGE', keys.linking, 0, MOST_LINKED - 1) or {} end

-- Whether there are as many as may be.
function links.is_full() return (try('LLEN', keys.linking) or 0) >= MOST_LINKED end

-- Has a job be there that was created already, by its key or that of its idempotency key.
function links.show(key)
  for _, group in ipairs(linked()) do
    local line = try('HGET', keys.group(group), key)
    if line then return show({ line }) end
  end
end

-- What a reader says of a job, which is there by then if it was created.
function links.read(read_job, id)
  local job = read_job(id)
  if job and (job.status or job.id) or redis.call('EXISTS', keys.linking) == 0 then return job end
  links.show(keys.job(id))
  return read_job(id)
end

-- Whether a group that was created has a job with one of these keys.
function links.has_any(...)
  for _, group in ipairs(linked()) do
    for _, line in ipairs(try('HMGET', keys.group(group), ...) or {}) do
      if line then return true end
    end
  end
  return false
end

-- The line of a job that is staged.
function links.line(group, place, job, letter, given_up)
  local line = 'created ' .. group .. ':' .. place .. ' ' .. job.id .. ' ' .. letter .. ' ' .. given_up
  return job.idempotency and line .. ' ' .. job.idempotency .. ' ' .. job.digest or line
end

local function enter(line)
  local what, other, rest = string.match(line, '^(%a+) (%S+) (.+)$')
  local ids = {}
  for id in string.gmatch(rest or '', '%S+') do
    if #ids < MOST_IN_LINE and values.is_uuid(id) then ids[#ids + 1] = id end
  end
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

-- Does so much of that, and what is left of one text more at most. A text goes when it is done: what an error leaves is done again, and who
-- stands in a list twice is let go once.
function links.enter_some(most)
  local done = 0
  while done < most do
    local group = try('LINDEX', keys.linking, 0)
    if not group then break end
    local text, created = try('LINDEX', keys.lines(group), 0), {}
    -- A text counts, too, and a line.
    done = done + 1
    for line in string.gmatch(text and #text <= LONGEST and text or '', '[^\n]+') do
      done = done + 1
      if string.sub(line, 1, 8) == 'created ' then created[#created + 1] = line else done = done + enter(line) end
    end
    if #created > 0 then show(created) end
    if text then
      redis.call('LPOP', keys.lines(group))
    else
      redis.call('UNLINK', keys.group(group), keys.lines(group))
      redis.call('LPOP', keys.linking)
    end
  end
  return done
end

function links.has_more() return redis.call('EXISTS', keys.linking) == 1 end

-- How many jobs may be created that are not at their places yet.
function links.many_unshown()
  local many = 0
  for _, group in ipairs(linked()) do many = many + math.max(tonumber(try('HGET', keys.group(group), 'many') or nil) or 0, 1) end
  return many
end

-- How a group that is staged stands among those. One that is to be taken away stands there with the time 0.
function links.member(group, many) return group .. ' ' .. many end

-- Whether a group is staged.
function links.is_staged(group)
  for _, member in ipairs(try('ZRANGE', keys.staging, 0, MOST_STAGED) or {}) do
    if string.match(member, '^(%S+)') == group then return true end
  end
  return false
end

-- Whether so many groups are staged already that another one has to wait.
function links.are_too_many() return (try('ZCARD', keys.staging) or 0) >= MOST_STAGED end

-- Keeps a group among those that are staged. False: it is to be taken away, or is not there. `is_first`: it comes there now.
function links.keep(group, many, is_first)
  local member = links.member(group, many)
  if not is_first and (tonumber(try('ZSCORE', keys.staging, member) or nil) or 0) <= 0 then return false end
  insist('ZADD', keys.staging, request.digits_in(links.STAGED), member)
  return true
end

-- Lets some of those go that were there before and wait for a group that is not to be created. Gives whether there are more.
local function let_go_some(group)
  local held, done = keys.held(group), 0
  while done < LET_GO do
    local line = try('LINDEX', held, 0)
    if not line then return false end
    local other, ids = string.match(#line <= LONGEST and line or '', '^(%S+) (.*)$')
    local many = 0
    for id in string.gmatch(ids or '', '%S+') do
      if values.is_uuid(id) then relations.let_go(id, other, group) end
      many = many + 1
    end
    done = done + math.max(many, 1)
    redis.call('LPOP', held)
  end
  return redis.call('EXISTS', held) == 1
end

-- Takes away some of what was staged of a group that is not to be created: first those wait for none of it who were there before. One that
-- was created stays. Gives how many places are left, or the same if it may be more.
function links.unstage(group, many)
  local member = links.member(group, many)
  if try('LPOS', keys.linking, group) then
    try('ZREM', keys.staging, member)
    try('ZREM', keys.holding, member)
    return 0
  end
  insist('ZADD', keys.staging, 0, member)
  if let_go_some(group) then return many end
  try('ZREM', keys.holding, member)
  local staged, left = {}, math.max(math.min(many, links.MOST) - MOST_TAKEN, 0)
  for place = left + 1, math.min(many, links.MOST) do staged[#staged + 1] = keys.staged(group, place) end
  if #staged > 0 then redis.call('UNLINK', unpack(staged)) end
  if left > 0 then
    insist('ZADD', keys.staging, 0, links.member(group, left))
  else
    redis.call('UNLINK', keys.group(group), keys.lines(group), keys.held(group))
  end
  try('ZREM', keys.staging, member)
  return left
end

local function unstage_member(key, member)
  local group, many = string.match(member, '^(%S+) (%d+)$')
  many = math.min(tonumber(many or nil) or 0, links.MOST)
  if group and links.member(group, many) == member then return links.unstage(group, many) > 0 end
  -- Another program wrote it.
  try('ZREM', key, member)
  return false
end

-- Goes on with taking away a group that nobody has created in time; or one that holds others, though it is not among those that are staged
-- any more. Gives whether there is more of it.
function links.unstage_some()
  local due = unpack(request.due(keys.staging, links.STAGED, 1))
  if due then return unstage_member(keys.staging, due) end
  local held = unpack(try('ZRANGE', keys.holding, 0, 0) or {})
  return held and not try('ZSCORE', keys.staging, held) and unstage_member(keys.holding, held) or false
end

return links
