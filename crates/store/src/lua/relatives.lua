-- Releases the relatives of jobs that have ended: dependents and children, then continuations and the parent once all descendants
-- have ended. `keys.release` has an entry for each job whose relatives are to be released, the next one last.
local try = commands.try
local relatives = {}

local read, read_parent = jobs.end_reader('status', 'rel', 'staged_for'), jobs.reader('status', 'rel')

-- The number of relatives that this call may still release.
local left = 0

-- A relative that ends with the job takes as long as this number of relatives that go on.
local AN_END = 3

-- The next relatives of a list, up to the number that this call has left. The second value says whether there may be
-- more.
local function next_of(list, each)
  if left <= 0 then return {}, redis.call('EXISTS', list) == 1 end
  local ids = try('LPOP', list, math.ceil(left / each)) or {}
  left = left - #ids * each
  return ids, left <= 0 and redis.call('EXISTS', list) == 1
end

-- The parent of a job that has closed, and of its continuations, may close next.
local function leave_parent(id, parent)
  if try('SREM', keys.relatives(parent, 'active'), id) ~= 1 or not relations.is_closed(parent) then return end
  local job = read_parent(parent) or {}
  ends.release(parent, job.status or 'error', job.rel or '-')
end

-- Releases the next of the 'dependents' or 'children' of a job that ended, or ends them with it. Returns whether there
-- are more.
local function release_next(id, status, list)
  local are_children = list == 'children'
  local ids, more = next_of(keys.relatives(id, list), status == 'finished' and 1 or AN_END)
  for _, other in ipairs(ids) do
    -- A dependent may have the id of a former one that was meant, and a child may have been stopped or deleted since.
    local waits = relations.leave_list(other, list, id) and (not are_children or values.is_waiting(jobs.status(other)))
    if waits and status == 'finished' then
      if are_children then commands.insist('SADD', keys.relatives(id, 'active'), other) end
      request.has_work(relations.unblock(other))
    elseif waits and not are_children and relations.is_stopped_with(other, id) then
      relations.give_up(other, 'stopped', 'stopped')
    elseif waits then
      relations.give_up(other, relations.told_of(are_children and 'parent' or 'prerequisite', id, status))
    end
  end
  return more
end

-- Handles one job. True: it is done.
local function work(id, status, parent)
  local key, job = keys.job(id), read(id) or {}
  local now_is = job.status
  -- It was retried. It may even have been ended again by a foreign actor, which no server has seen yet. Its next end
  -- comes here, too.
  if now_is and (not values.is_final(now_is) or redis.call('ZSCORE', keys.watched, id)) then
    -- Or it was deleted, and the job that has its id now has another parent or none.
    if job.rel ~= parent then leave_parent(id, parent) end
    return true
  end
  status = now_is or status
  if conveyor.is_relation(parent) then
    -- Its children and continuations are in keys of their own, as bytes that no function reads.
    conveyor.note_end(id, status == 'deleted' and 'error' or status, parent)
    parent = '-'
  end
  if release_next(id, status, 'dependents') or release_next(id, status, 'children') then return false end
  if redis.call('EXISTS', keys.relatives(id, 'active')) == 1 then
    -- Kept until its children have ended.
    redis.call('PERSIST', key)
    return true
  end
  local ids, more = next_of(keys.relatives(id, 'onComplete'), 1)
  for _, continuation in ipairs(ids) do
    if relations.leave_list(continuation, 'onComplete', id) then request.has_work(relations.unblock(continuation)) end
  end
  if more then return false end
  if redis.call('TTL', key) == -1 then
    local seconds = ends.seconds_kept(now_is, job)
    redis.call('EXPIRE', key, job.staged_for and math.max(tonumber(seconds), links.AWAITED_SECONDS) or seconds)
  end
  if parent ~= '-' then leave_parent(id, parent) end
  return true
end

-- Releases at most `most` relatives of jobs that have ended; such a job counts, too.
function relatives.release(most)
  left = most
  while left > 0 do
    local entry = redis.call('LINDEX', keys.release, -1)
    if not entry then break end
    local id, status, parent = string.match(entry, '^(%S+) (%S+) (%S+)$')
    left = left - 1
    if id and not work(id, status, parent) then break end
    -- New entries came at the other end.
    redis.call('RPOP', keys.release)
  end
end

return relatives
