-- Jobs that outsiders wrote, or put into queues; stands behind relations.lua.

-- Has a job that somebody put into a queue wait for what it is to wait for. False: it does not run now.
local function hold_back(id, open, attempt)
  if open <= 0 then return true end
  redis.call('HSET', job_prefix .. id, 'status', 'waiting_for_prerequisites', 'open', open, 'updated_at', now_text)
  event(id, 'waiting_for_prerequisites', attempt)
  return false
end

-- No more relations of a job that an outsider wrote are followed to see whether it would wait for itself, nor for all such jobs of a call.
local FOLLOWED, FOLLOWED_IN_ALL = 500, 1000

-- Who would wait for himself, as `find_cycle` says it. `walk` is that of all such jobs of this call. False: it has no room for this job.
local function circle_of(id, of, walk)
  walk.for_all = walk.for_all or FOLLOWED_IN_ALL
  -- Where the walk has met this job it may go on from there now.
  if walk.done and (walk.done['start ' .. id] or walk.done['close ' .. id]) then walk.done = nil end
  local most = math.min(walk.for_all, FOLLOWED)
  walk.left = most
  local circle = find_cycle({ [id] = of }, walk, true)
  walk.for_all = math.max(walk.for_all - most + walk.left, 0)
  -- It may have stopped half way up.
  if circle == true then walk.climbed = nil end
  if circle == true and most < FOLLOWED then return false end
  return circle
end

-- Puts a job of an outsider into the index. The time that he gave it may be another one; how far those of an hour are off is noted, because
-- lists of a time look so much further.
local function list_noticed(id, created_at)
  local index, NEAR, FAR = index_key(now_text), 1000, 1e14
  redis.call('HSET', job_prefix .. id, 'indexed', string.format('%.0f', now))
  list_in(index, id)
  local off = created_at and math.max(-FAR, math.min((millis(created_at) or now) - now, FAR)) or 0
  if math.abs(off) <= NEAR then return end
  local ahead, behind = string.match(try('HGET', strays_key, index) or '', '^(%d+) (%d+)$')
  ahead, behind = tonumber(ahead or 0), tonumber(behind or 0)
  if off > ahead or -off > behind then
    insist('HSET', strays_key, index, string.format('%.0f %.0f', math.max(ahead, off), math.max(behind, -off)))
  end
end

-- Takes note of a job that an outsider wrote, or put into a queue (nil: it is in none). False: its relations keep it from running now.
-- Nil: `walk`, in which the call notes what was followed for such jobs, has no room for it; nothing was done, and it comes again.
local function admit(id, queue, walk)
  local key = job_prefix .. id
  local job = redis.call('HMGET', key, 'indexed', 'linked', 'prerequisites', 'dependencies', 'predecessor_id', 'parent_id', 'attempt',
    'open', 'finished_at', unpack(END_FIELDS))
  local of, attempt = of_end(job, 10), job[7] or 0
  local function named(other) return other and other ~= '' and other ~= id and other or nil end
  local predecessor, parent = named(job[5]), named(job[6])
  local others = job[2] and {} or prerequisites_of(job[3], job[4])
  local related, circle = not job[2] and (#others > 0 or predecessor or parent), nil
  if related then
    local of_new = { prerequisite = others, dependent = {}, parent = parent, predecessor = predecessor }
    circle = #others > FOLLOWED or circle_of(id, of_new, walk)
    if circle == false then return nil end
  end
  if not job[1] then list_noticed(id, redis.call('HGET', key, 'created_at')) end
  -- Where it was put says who may run it; it goes back there if it is given back.
  local group, instance = string.match(queue or '', ':group:([^:]+)'), string.match(queue or '', ':inst:(%d+)')
  local script_type = string.match(queue or '', ':type:([%w_.-]+)')
  if script_type then redis.call('HSETNX', key, 'script_type', script_type) end
  if group then redis.call('HSETNX', key, 'group', group) end
  if instance then redis.call('HSETNX', key, 'instance', instance) end
  redis.call('HDEL', key, 'unseen')
  if job[2] then
    -- One that has ended before waits for nothing any more: nobody would let it go.
    local open = job[9] and 0 or tonumber(job[8]) or 0
    -- It was created here and started by an outsider.
    if parent and of[8] ~= parent then open = open + link_parent(id, parent) end
    return hold_back(id, open, attempt)
  end
  if not related then return true end
  redis.call('HSET', key, 'linked', '1')
  local function end_it(text)
    fail(id, attempt, 'prerequisite', text, of)
    return false
  end
  for at = 1, math.min(#others, FOLLOWED) do
    if not is_job(others[at]) then return end_it('prerequisite ' .. others[at] .. ' does not exist') end
  end
  if type(circle) == 'table' then return end_it('it would wait for itself, through job ' .. circle[1]) end
  if circle then return end_it('it has too many relations to tell whether it would wait for itself') end
  local open, failed = link_prerequisites(id, others)
  if failed then
    redis.call('HSET', key, 'open', open)
    return end_it(told_of('prerequisite', failed))
  end
  if predecessor then open = open + link_predecessor(id, predecessor) end
  if parent then open = open + link_parent(id, parent) end
  return hold_back(id, open, attempt)
end
