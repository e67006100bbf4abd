-- The remaining work on groups of jobs that were created together (commit_jobs.lua): `keys.linking` has the groups, and `keys.lines`
-- of each has texts of lines:
--   'created' · place in the staging · id · a letter · time until which it is kept unless somebody starts it, ms · and if it has an
--     idempotency key: digest of caller and key · digest of its parameters. The letter: 'n' (nobody can know the id), 'r' (others may
--     lead to it already), 'o' (others may have the id), 'u' (others may, and an earlier job left something for readers)
--   'dependents' or 'onComplete' · another job · ids of the jobs that wait for it. Their hashes say so already, so they wait in any
--     case. If the other job ends before the line is processed, its end counts at that point.
-- `keys.group` has the number of staged jobs (`many`), and the first kind of line by the keys that others could ask for, of the job and
-- of its idempotency key: a caller that asks for one makes the job exist first.
local try, insist = commands.try, commands.insist
local links = {}

-- The time for which a group is staged after its last slice, ms, and the time for which its keys last if the entry is
-- lost, s.
links.STAGED, links.STAGED_SECONDS = 20000, 2592000
-- The minimum time for which an ended job is kept that staged jobs wait for, s: they find it when they are linked.
links.AWAITED_SECONDS = 300
-- The maximum number of jobs of a group; and the number of staged jobs that a call removes.
links.MOST = 1000
local MOST_TAKEN = 250
-- The number of jobs outside that a call lets go, about; a line has up to as many as hold_dependents.lua is given.
local LET_GO = 64
-- The maximum number of ids in a line, and the maximum size of a text, bytes. Longer ones of other programs are cut, or
-- left out.
local MOST_IN_LINE, MAX_TEXT_BYTES = 64, 65536
-- The maximum number of groups that are staged at a time in a context.
local MOST_STAGED = 64
-- The maximum number of created groups with remaining work, all of which are read.
local MOST_LINKED = 4
-- The maximum number of digits of a time in a line.
local LONGEST_TIME = 15
-- Other jobs count as listed when they were staged, if that is not longer ago, ms.
local NEAR = 1000

local read = jobs.reader('status', 'rel')

-- The jobs of some lines that are not at their places yet. Each key that `show` writes to is read before the first
-- write: an error of the hash slot leaves all of them, and the next call shows them.
local function unshown(lines)
  local found, index = {}, keys.index(request.now_text)
  redis.call('EXISTS', keys.scheduled, index, keys.hours, keys.time_offsets, keys.events)
  for _, line in ipairs(lines) do
    local place, id, letter, at, digest, params = string.match(line, '^created (%S+) (%S+) (%a) (%d+) ?(%S*) ?(%S*)$')
    -- Another program wrote an invalid time. Redis would refuse it, after other jobs of the text are at their places
    -- and in no list.
    if place and #at <= LONGEST_TIME and redis.call('EXISTS', keys.staged_at(place)) == 1 then
      redis.call('EXISTS', keys.job(id), digest ~= '' and keys.idempotency(digest) or keys.job(id))
      found[#found + 1] = { from = keys.staged_at(place), id = id, letter = letter, at = at, digest = digest, params = params }
    end
  end
  return found, index
end

-- Makes created jobs exist, by their lines, unless they exist already.
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

-- The groups with remaining work.
local function linked() return try('LRANGE', keys.linking, 0, MOST_LINKED - 1) or {} end

-- True if no further group may be created now.
function links.is_full() return (try('LLEN', keys.linking) or 0) >= MOST_LINKED end

-- Makes a created job exist, by its key or that of its idempotency key.
function links.show(key)
  for _, group in ipairs(linked()) do
    local line = try('HGET', keys.group(group), key)
    if line then return show({ line }) end
  end
end

-- Reads a job, after making it exist if it was created.
function links.read(read_job, id)
  local job = read_job(id)
  if job and (job.status or job.id) or redis.call('EXISTS', keys.linking) == 0 then return job end
  links.show(keys.job(id))
  return read_job(id)
end

-- True if a created group has a job with one of these keys.
function links.has_any(...)
  for _, group in ipairs(linked()) do
    for _, line in ipairs(try('HMGET', keys.group(group), ...) or {}) do
      if line then return true end
    end
  end
  return false
end

-- The line of a staged job.
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

-- Processes at most `most` of these lines, and the rest of one text. A text is removed when it is done: the work that
-- an error left is repeated, and a job that is in a list twice is released once.
function links.enter_some(most)
  local done = 0
  while done < most do
    local group = try('LINDEX', keys.linking, 0)
    if not group then break end
    local text, created = try('LINDEX', keys.lines(group), 0), {}
    -- A text and a line count, too.
    done = done + 1
    for line in string.gmatch(text and #text <= MAX_TEXT_BYTES and text or '', '[^\n]+') do
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

-- The number of created jobs that are not at their places yet.
function links.many_unshown()
  local many = 0
  for _, group in ipairs(linked()) do many = many + math.max(tonumber(try('HGET', keys.group(group), 'many') or nil) or 0, 1) end
  return many
end

-- The entry of a group in the set of staged groups. A group that is to be removed has the time 0.
function links.member(group, many) return group .. ' ' .. many end

-- True if a group is staged.
function links.is_staged(group)
  for _, member in ipairs(try('ZRANGE', keys.staging, 0, MOST_STAGED) or {}) do
    if string.match(member, '^(%S+)') == group then return true end
  end
  return false
end

-- True if so many groups are staged that another one has to wait.
function links.are_too_many() return (try('ZCARD', keys.staging) or 0) >= MOST_STAGED end

-- Keeps a group staged. False: it is to be removed, or does not exist. `is_first`: it is staged now.
function links.keep(group, many, is_first)
  local member = links.member(group, many)
  if not is_first and (tonumber(try('ZSCORE', keys.staging, member) or nil) or 0) <= 0 then return false end
  insist('ZADD', keys.staging, request.digits_in(links.STAGED), member)
  return true
end

-- Lets some existing jobs go that wait for a group that is not created. Returns whether there are more.
local function let_go_some(group)
  local held, done = keys.held(group), 0
  while done < LET_GO do
    local line = try('LINDEX', held, 0)
    if not line then return false end
    local other, ids = string.match(#line <= MAX_TEXT_BYTES and line or '', '^(%S+) (.*)$')
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

-- Removes some staged jobs of a group that is not created, after letting the existing jobs go that wait for it. A group
-- that was created stays. Returns the number of places that are left, or the same number if that is unknown.
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

-- Continues the removal of a group that nobody has created in time; or of one that holds others, though it is not
-- staged any more. Returns whether there is more of it.
function links.unstage_some()
  local due = unpack(request.due(keys.staging, links.STAGED, 1))
  if due then return unstage_member(keys.staging, due) end
  local held = unpack(try('ZRANGE', keys.holding, 0, 0) or {})
  return held and not try('ZSCORE', keys.staging, held) and unstage_member(keys.holding, held) or false
end

return links
