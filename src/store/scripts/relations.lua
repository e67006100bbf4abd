-- Who waits for whom; stands behind shared.lua. A job's `open` counts what it waits for, and each of these lets it go exactly once.

-- The ids in a JSON list. What is no list has none.
local function listed(text)
  local ids, seen = {}, {}
  for id in string.gmatch(text or '', '"([^"]*)"') do
    if not seen[id] then
      seen[id] = true
      ids[#ids + 1] = id
    end
  end
  return ids
end

-- What a job waits for to finish; outsiders may write either field.
local function prerequisites_of(prerequisites, dependencies)
  return listed(prerequisites and prerequisites ~= '[]' and prerequisites or dependencies)
end

-- Ids beyond this number are not added to the text of a hash, which is written anew for each: they are fields of their own.
local MOST_IN_TEXT, MOST_ADDED = 100, 10000

-- Adds to what a job waits for to finish, where whoever reads the job finds it.
local function add_prerequisite(id, other)
  local key = job_prefix .. id
  if math.max(try('HSTRLEN', key, 'prerequisites') or 0, try('HSTRLEN', key, 'dependencies') or 0) > 39 * MOST_IN_TEXT then
    redis.call('HSET', key, 'prerequisite:' .. other, increase(key, 'more_prerequisites', 1))
  else
    local texts = redis.call('HMGET', key, 'prerequisites', 'dependencies')
    local text = texts[1] and texts[1] ~= '[]' and texts[1] or texts[2] or '[]'
    -- Otherwise an outsider wrote it, or nobody.
    if string.sub(text, -2) ~= '"]' then text = '["' .. table.concat(listed(text), '","') .. '"]' end
    text = text == '[""]' and '["' .. other .. '"]' or string.sub(text, 1, -2) .. ',"' .. other .. '"]'
    redis.call('HSET', key, 'prerequisites', text, 'dependencies', text)
  end
end

-- Those that were added beside the text.
local function added_prerequisites(id)
  local others = {}
  for _, field in ipairs(redis.call('HKEYS', job_prefix .. id)) do others[#others + 1] = string.match(field, '^prerequisite:(.+)$') end
  return others
end

-- Whether there is a job with an id. A key of another type is none: old layouts have lists by such names.
local function is_job(id) return is_uuid(id) and redis.call('TYPE', job_prefix .. id).ok == 'hash' end

-- Whether the end of a job was written past whoever was to say it.
local function is_unsettled(id) return try('ZSCORE', watched_key, id) or try('ZSCORE', leases_key, id) end

-- A refusal names no more ids.
local NAMED = 20

-- Whether a job that is gone left relatives behind. If an outsider deleted its hash nothing is on its way yet that lets them go.
local function left_behind(id)
  local lists = redis.call('EXISTS', rel_key(id, 'dependents'), rel_key(id, 'children'), rel_key(id, 'active'), rel_key(id, 'onComplete'))
  if lists > 0 then release(id, 'deleted', '-') end
  return lists > 0
end

-- Whether a job and all its descendants have ended; one that is gone has, and a key of another type is none.
local function closed(id)
  local status = try('HGET', job_prefix .. id, 'status')
  if not status and redis.call('TYPE', job_prefix .. id).ok == 'hash' then return false end
  return (not status or is_final(status)) and redis.call('EXISTS', rel_key(id, 'children'), rel_key(id, 'active')) == 0
end

-- Has the end of a job noticed that others wait for: foreign actors tell nobody, and one that only they had was never seen here.
local function heed(id, status)
  if status == 'created' or status == 'scheduled' or status == 'waiting_for_prerequisites' then return end
  if try('ZSCORE', leases_key, id) or insist('ZADD', watched_key, 'NX', now + RESTLESS, id) == 0 then return end
  redis.call('HSET', job_prefix .. id, 'unseen', '1')
end

-- The field of a job that says in which list of another one it stands. A later job of the same id has none, and is not let go in its place.
local function standing(what, other) return 'waits:' .. what .. ':' .. other end

-- Puts a job into a list of another one; further fields are set with the one that says so.
local function stand_in(id, what, other, ...)
  insist('RPUSH', rel_key(other, what), id)
  redis.call('HSET', job_prefix .. id, standing(what, other), '1', ...)
  try('HSETNX', job_prefix .. other, 'rel', '-')
end

-- Has a job that was taken out of a list stand there no more. False: it never did, another one that had its id was meant.
local function step_out(id, what, other) return try('HDEL', job_prefix .. id, standing(what, other)) == 1 end

-- Has a job wait until others have finished. Gives how many are not, and one that ended in error.
local function link_prerequisites(id, others)
  local open, failed = 0, nil
  for _, other in ipairs(others) do
    local status = try('HGET', job_prefix .. other, 'status')
    -- An end by a foreign actor counts once it is settled, because a retry may follow.
    if status == 'error' and not is_unsettled(other) then
      failed = failed or other
    elseif status ~= 'finished' then
      stand_in(id, 'dependents', other)
      heed(other, status)
      open = open + 1
    end
  end
  return open, failed
end

-- Has a job wait until another one and all its descendants have ended. Gives 1 if they have not.
local function link_predecessor(id, other)
  if closed(other) then return 0 end
  stand_in(id, 'onComplete', other)
  local status = try('HGET', job_prefix .. other, 'status')
  if not is_final(status) then heed(other, status) end
  return 1
end

-- Makes a job that starts the child of another. Gives 1 if it has to wait until the parent's script has returned.
local function link_parent(id, parent)
  if parent == id or not is_job(parent) then return 0 end
  local status = try('HGET', job_prefix .. parent, 'status')
  redis.call('HSET', job_prefix .. id, 'rel', parent)
  if is_final(status) then
    try('HSETNX', job_prefix .. parent, 'rel', '-')
    insist('SADD', rel_key(parent, 'active'), id)
    -- The parent is kept until its children have ended.
    redis.call('PERSIST', job_prefix .. parent)
    return 0
  end
  stand_in(id, 'children', parent)
  heed(parent, status)
  return 1
end

-- Out of no more lists a job is taken, nor are more of their elements looked at. What stays there is passed over when its turn comes.
local MOST_LISTS, SEARCHED = 4000, 100000

-- Takes a job that waits no more out of the lists of those it waited for. Gives the fields that say that it stands there: without those
-- none of them lets it go another time.
local function unlink(id)
  local key, left, fields = job_prefix .. id, SEARCHED, {}
  for _, field in ipairs(try('HKEYS', key) or {}) do
    local what, other = string.match(field, '^waits:(%a+):(.+)$')
    if what then
      fields[#fields + 1] = field
      local length = #fields <= MOST_LISTS and try('LLEN', rel_key(other, what)) or math.huge
      if length <= left then
        left = left - length
        try('LREM', rel_key(other, what), 1, id)
      end
    end
  end
  return fields
end

-- Why a job cannot have the relations it names, or nil. `given`: the jobs that are stored together with it.
local function refuse(id, of, given)
  local function missing(param, others)
    local ids = {}
    for _, other in ipairs(others) do
      if not given[other] and #ids < NAMED and not is_job(other) then ids[#ids + 1] = other end
    end
    return #ids > 0 and { 'no', param, unpack(ids) } or nil
  end
  for _, others in ipairs({ of.prerequisite, of.dependent, { of.parent }, { of.predecessor } }) do
    for _, other in ipairs(others) do
      if other == id then return { 'cycle', id } end
    end
  end
  local refused = missing('prerequisites', of.prerequisite) or missing('parent_id', { of.parent }) or missing('predecessor_id', { of.predecessor })
    or missing('dependents', of.dependent)
  if refused then return refused end
  for _, other in ipairs(of.dependent) do
    if not given[other] then
      local job = try('HMGET', job_prefix .. other, 'status', 'attempt', 'more_prerequisites') or {}
      local waits = job[1] == 'created' or job[1] == 'waiting_for_prerequisites' or job[1] == 'scheduled' and (tonumber(job[2]) or 0) == 0
      if not waits then return { 'late', other, job[1] or 'dispatched' } end
      if (tonumber(job[3]) or 0) >= MOST_ADDED then return { 'crowded', other } end
    end
  end
end

-- No more relations are followed to see whether a job of ours would wait for itself, nor for all jobs of one call.
local MOST_FOLLOWED, MOST_FOLLOWED_IN_ALL = 4000, 5000

-- Jobs that would wait for each other if the jobs of `new` (id → relations) were stored; true when there are more than `walk.left` relations
-- to follow, or nil. A node is the start or the close of a job. A start waits for the starts of prerequisites and parent, and for the close
-- of the predecessor; a close waits for the job's own start, and for the closes of its children. `known`: others may name the new jobs already.
-- What `walk` holds serves the next call of the same script, too, so that nothing is followed twice; `walk.left` is lessened.
local function find_cycle(new, walk, known)
  local before, path, visit, comes_back = {}, {}, nil, known
  -- Nodes from which all has been followed; children that are named here; jobs whose ancestors are.
  walk.done, walk.children, walk.climbed = walk.done or {}, walk.children or {}, walk.climbed or {}
  local function add(to, kind, id, other)
    -- A job that exists leads back to a new one only if that one names it as dependent or parent.
    comes_back = comes_back or not new[id]
    -- From there it goes on now.
    if walk.done[kind .. id] then walk.done = {} end
    to[id] = to[id] or {}
    table.insert(to[id], other)
  end
  local function parent_of(id) return try('HGET', job_prefix .. id, 'parent_id') end
  -- Children that were not started stand in no list of their parents.
  local function climb(id, parent)
    while parent and parent ~= '' and walk.left > 0 do
      add(walk.children, 'close ', parent, id)
      if new[parent] or walk.climbed[parent] then return end
      walk.climbed[parent], walk.left = true, walk.left - 1
      id, parent = parent, parent_of(parent)
    end
  end
  for id, of in pairs(new) do
    for _, other in ipairs(of.dependent) do
      add(before, 'start ', other, id)
      if not new[other] then climb(other, parent_of(other)) end
    end
    climb(id, of.parent)
  end
  local function visit_all(kind, ids)
    for _, id in ipairs(ids or {}) do
      local found = visit(kind, id)
      if found then return found end
    end
  end
  -- Nil: more than can be followed, which is not even read.
  local function relations_of(id)
    local job = comes_back and redis.pcall('HMGET', job_prefix .. id, 'status', 'prerequisites', 'dependencies', 'parent_id',
      'predecessor_id', 'more_prerequisites') or {}
    -- What has begun waits for nothing any more.
    if not (job[1] == 'created' or job[1] == 'scheduled' or job[1] == 'waiting_for_prerequisites') then return { prerequisite = {} } end
    local text, added = job[2] or '', tonumber(job[6]) or 0
    -- Nearly always it is one.
    if #text == 40 and added == 0 then return { prerequisite = { string.sub(text, 3, 38) }, parent = job[4], predecessor = job[5] } end
    if added + math.max(#text, #(job[3] or '')) / 390 > walk.left + 1 then return nil end
    local others = prerequisites_of(job[2], job[3])
    for _, other in ipairs(added > 0 and added_prerequisites(id) or {}) do others[#others + 1] = other end
    return { prerequisite = others, parent = job[4], predecessor = job[5] }
  end
  -- The jobs on the way from a node to itself, the last first.
  local function circle(node)
    local ids, seen = {}, {}
    for at = #path, 1, -1 do
      local id = string.match(path[at], ' (.*)$')
      if not seen[id] and #ids < NAMED then
        seen[id] = true
        ids[#ids + 1] = id
      end
      if path[at] == node then return ids end
    end
  end
  local function visit_children(id)
    local children, active = rel_key(id, 'children'), rel_key(id, 'active')
    if (try('LLEN', children) or 0) + (try('SCARD', active) or 0) > walk.left then return true end
    return visit_all('close ', try('LRANGE', children, 0, -1)) or visit_all('close ', try('SMEMBERS', active))
  end
  visit = function(kind, id)
    local node, found = kind .. id, nil
    if walk.done[node] == 'open' then return circle(node) end
    -- One that leads to where the walk has been costs little.
    if comes_back and not new[id] then walk.left = walk.left - (walk.done[node] and 0.1 or 1) end
    if walk.left < 0 then return true end
    if walk.done[node] then return nil end
    walk.done[node], path[#path + 1] = 'open', node
    if kind == 'close ' then
      found = visit('start ', id) or visit_all(kind, walk.children[id]) or comes_back and visit_children(id)
    else
      local of = new[id] or relations_of(id)
      found = not of or visit_all(kind, of.prerequisite) or visit_all(kind, before[id]) or of.parent and visit(kind, of.parent)
        or of.predecessor and visit('close ', of.predecessor)
    end
    walk.done[node], path[#path] = not found and 'done' or nil, nil
    return found or nil
  end
  for id in pairs(new) do
    local found = visit('start ', id)
    if found then return found end
  end
end

-- Links a new job to those it waits for and to those that wait for it. Gives how many it waits for, and a prerequisite that ended in error.
local function relate(id, of)
  local open, failed = link_prerequisites(id, of.prerequisite)
  if of.predecessor then open = open + link_predecessor(id, of.predecessor) end
  for _, other in ipairs(of.dependent) do
    add_prerequisite(other, id)
    increase(job_prefix .. other, 'open', 1)
    stand_in(other, 'dependents', id, 'linked', '1')
  end
  return open, failed
end

-- What is said of a job that ends because another one, its prerequisite or parent, ended in error; or, by its status, was deleted before it ended.
local function told_of(what, other, status) return what .. ' ' .. other .. (status == 'deleted' and ' was deleted' or ' ended in error') end

-- Has a job wait for one thing less.
local function unblock(id)
  local key = job_prefix .. id
  local job = try('HMGET', key, 'status', 'open', 'script_type', 'group', 'instance', 'priority', 'attempt')
  if not job or not job[2] then return end
  local open = try('HINCRBY', key, 'open', -1)
  if job[1] == 'waiting_for_prerequisites' and (open or 0) <= 0 then
    local script_type = job[3] or 'osis'
    begin(id, job[7] or 0, script_type, work_key(script_type, job[4], job[5], job[6]), nil, 0)
    return script_type
  end
end

-- Ends a job that waits for something that will not come.
local function give_up(id, text)
  local job = try('HMGET', job_prefix .. id, 'status', 'attempt', unpack(END_FIELDS))
  if not job or not (job[1] == 'created' or job[1] == 'scheduled' or job[1] == 'waiting_for_prerequisites') then return end
  try('ZREM', scheduled_key, id)
  fail(id, job[2] or 0, 'prerequisite', text, of_end(job, 3))
end

-- Links a job that is stored now to those that it names. To be started it comes with { script type, queue, due time } and is put on its way;
-- otherwise it is kept until a time. Gives its status.
local function link(id, of, start, given_up)
  local open, failed = relate(id, of)
  if start and of.parent then open = open + link_parent(id, of.parent) end
  redis.call('HSET', job_prefix .. id, 'open', open, 'linked', '1')
  if failed then
    give_up(id, told_of('prerequisite', failed))
    return 'error'
  elseif start then
    return begin(id, 0, start[1], start[2], start[3], open)
  end
  insist('ZADD', scheduled_key, given_up, id)
  event(id, 'created', 0)
  return 'created'
end
