-- Who waits for whom; stands behind shared.lua. A job's `open` counts what it waits for, and each of these is let go exactly once.

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

local function is_final(status) return status == 'finished' or status == 'error' end

-- Whether a job and all its descendants have ended; one that is gone has.
local function closed(id)
  local status = try('HGET', job_prefix .. id, 'status')
  if not status and redis.call('EXISTS', job_prefix .. id) == 1 then return false end
  return (not status or is_final(status)) and redis.call('EXISTS', rel_key(id, 'children'), rel_key(id, 'active')) == 0
end

-- Has a job wait until others have finished. Gives how many are not, and one that ended in error.
local function link_prerequisites(id, others)
  local open, failed = 0, nil
  for _, other in ipairs(others) do
    local status = try('HGET', job_prefix .. other, 'status')
    -- An end by a foreign actor counts once it is settled, because a retry may follow.
    if status == 'error' and not redis.call('ZSCORE', watched_key, other) then
      failed = failed or other
    elseif status ~= 'finished' then
      redis.call('RPUSH', rel_key(other, 'dependents'), id)
      redis.call('HSETNX', job_prefix .. other, 'rel', '-')
      open = open + 1
    end
  end
  return open, failed
end

-- Has a job wait until another one and all its descendants have ended. Gives 1 if they have not.
local function link_predecessor(id, other)
  if closed(other) then return 0 end
  redis.call('RPUSH', rel_key(other, 'onComplete'), id)
  redis.call('HSETNX', job_prefix .. other, 'rel', '-')
  return 1
end

-- Makes a job that starts the child of another. Gives 1 if it has to wait until the parent's script has returned.
local function link_parent(id, parent)
  local status = try('HGET', job_prefix .. parent, 'status')
  if not status and redis.call('EXISTS', job_prefix .. parent) == 0 then return 0 end
  redis.call('HSET', job_prefix .. id, 'rel', parent)
  redis.call('HSETNX', job_prefix .. parent, 'rel', '-')
  if is_final(status) then
    redis.call('SADD', rel_key(parent, 'active'), id)
    -- The parent is kept until its children have ended.
    redis.call('PERSIST', job_prefix .. parent)
    return 0
  end
  redis.call('RPUSH', rel_key(parent, 'children'), id)
  return 1
end

-- Why a job cannot have the relations it names, or nil. `given`: the jobs that are stored together with it.
local function refuse(id, of, given)
  local function missing(other) return not given[other] and redis.call('EXISTS', job_prefix .. other) == 0 end
  for _, other in ipairs(of.prerequisite) do
    if other == id then return { 'cycle', id } end
    if missing(other) then return { 'no', 'prerequisites', other } end
  end
  for _, name in ipairs({ 'parent', 'predecessor' }) do
    if of[name] == id then return { 'cycle', id } end
    if of[name] and missing(of[name]) then return { 'no', name .. '_id', of[name] } end
  end
  for _, other in ipairs(of.dependent) do
    if other == id then return { 'cycle', id } end
    if missing(other) then return { 'no', 'dependents', other } end
    if not given[other] then
      local job = try('HMGET', job_prefix .. other, 'status', 'attempt') or {}
      local waits = job[1] == 'created' or job[1] == 'waiting_for_prerequisites' or job[1] == 'scheduled' and (tonumber(job[2]) or 0) == 0
      if not waits then return { 'late', other, job[1] or 'dispatched' } end
    end
  end
end

-- A job that would wait for itself if the jobs of `new` (id → relations) were stored; true when there is too much to follow, or nil.
-- A node is the start or the close of a job. A start waits for the starts of prerequisites and parent, and for the close of the predecessor;
-- a close waits for the job's own start, and for the closes of its children.
local function find_cycle(new)
  local before, children, left, state, visit, comes_back = {}, {}, 4000, {}, nil, false
  local function add(to, id, other)
    -- A job that exists leads back to a new one only if that one names it as dependent or parent.
    comes_back = comes_back or not new[id]
    to[id] = to[id] or {}
    table.insert(to[id], other)
  end
  for id, of in pairs(new) do
    for _, other in ipairs(of.dependent) do add(before, other, id) end
    if of.parent then add(children, of.parent, id) end
  end
  local function visit_all(kind, ids)
    for _, id in ipairs(ids or {}) do
      local found = visit(kind, id)
      if found then return found end
    end
  end
  local function relations_of(id)
    local job = comes_back and try('HMGET', job_prefix .. id, 'status', 'prerequisites', 'parent_id', 'predecessor_id') or {}
    -- What has begun waits for nothing any more.
    if not (job[1] == 'created' or job[1] == 'scheduled' or job[1] == 'waiting_for_prerequisites') then return { prerequisite = {} } end
    return { prerequisite = listed(job[2]), parent = job[3], predecessor = job[4] }
  end
  visit = function(kind, id)
    local node, found = kind .. id, nil
    if state[node] == 'open' then return id end
    if state[node] then return nil end
    left = left - ((new[id] or not comes_back) and 0 or 1)
    if left < 0 then return true end
    state[node] = 'open'
    if kind == 'close ' then
      found = visit('start ', id) or visit_all(kind, children[id]) or comes_back
        and (visit_all(kind, try('LRANGE', rel_key(id, 'children'), 0, -1)) or visit_all(kind, try('SMEMBERS', rel_key(id, 'active'))))
    else
      local of = new[id] or relations_of(id)
      found = visit_all(kind, of.prerequisite) or visit_all(kind, before[id]) or of.parent and visit(kind, of.parent)
        or of.predecessor and visit('close ', of.predecessor)
    end
    state[node] = 'done'
    return found or nil
  end
  for id in pairs(new) do
    local found = visit('start ', id)
    if found then return found end
  end
end

-- Links a new job to those it waits for and to those that wait for it. Gives how many it waits for, and a prerequisite that ended in error.
local function relate(id, of)
  local key = job_prefix .. id
  local open, failed = link_prerequisites(id, of.prerequisite)
  if of.predecessor then open = open + link_predecessor(id, of.predecessor) end
  for _, other in ipairs(of.dependent) do
    local others = try('HGET', job_prefix .. other, 'prerequisites')
    others = others and #listed(others) > 0 and string.sub(others, 1, -2) .. ',"' .. id .. '"]' or '["' .. id .. '"]'
    redis.call('HSET', job_prefix .. other, 'prerequisites', others, 'dependencies', others, 'linked', '1')
    redis.call('HINCRBY', job_prefix .. other, 'open', 1)
    redis.call('RPUSH', rel_key(id, 'dependents'), other)
    redis.call('HSETNX', key, 'rel', '-')
  end
  return open, failed
end

-- What is said of a job that ends because another one did.
local function prerequisite_text(other) return 'prerequisite ' .. other .. ' ended in error' end

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
  redis.call('ZREM', scheduled_key, id)
  fail(id, job[2] or 0, 'prerequisite', text, of_end(job, 3))
end

-- Takes note of a job that an outsider wrote and put into a queue. False: it does not run now, because of its relations.
local function admit(id)
  local key = job_prefix .. id
  local job = redis.call('HMGET', key, 'indexed', 'linked', 'prerequisites', 'dependencies', 'predecessor_id', 'parent_id', 'attempt', unpack(END_FIELDS))
  if not job[1] then
    redis.call('HSET', key, 'indexed', '1')
    try('RPUSH', index_key(now_text), id)
  end
  if job[2] then return true end
  local others = listed(job[3] and job[3] ~= '[]' and job[3] or job[4])
  if #others == 0 and not job[5] and not job[6] then return true end
  redis.call('HSET', key, 'linked', '1')
  for _, other in ipairs(others) do
    if redis.call('EXISTS', job_prefix .. other) == 0 then
      fail(id, job[7] or 0, 'prerequisite', 'prerequisite ' .. other .. ' does not exist', of_end(job, 8))
      return false
    end
  end
  local open, failed = link_prerequisites(id, others)
  if failed then
    fail(id, job[7] or 0, 'prerequisite', prerequisite_text(failed), of_end(job, 8))
    return false
  end
  if job[5] and job[5] ~= '' and job[5] ~= id then open = open + link_predecessor(id, job[5]) end
  if job[6] and job[6] ~= '' and job[6] ~= id then open = open + link_parent(id, job[6]) end
  if open == 0 then return true end
  redis.call('HSET', key, 'status', 'waiting_for_prerequisites', 'open', open, 'updated_at', now_text)
  event(id, 'waiting_for_prerequisites', job[7] or 0)
  return false
end
