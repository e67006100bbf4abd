#!lua flags=allow-oom
-- Releases the relatives of jobs that have ended: dependents and children, then heirs and the parent once all descendants have ended.
-- ARGV  9 at most so many relatives
-- Gives {1 if there is more to do else 0, script types that have work …}.
-- A job counts, too, so with less than two nothing would ever be done.
local left = math.max(tonumber(ARGV[9]), 2)

-- The next relatives of a list, as many as this call has left. The second value says whether there may be more.
local function next_of(list)
  if left <= 0 then return {}, redis.call('EXISTS', list) == 1 end
  local ids = try('LPOP', list, left) or {}
  left = left - #ids
  return ids, left <= 0 and redis.call('EXISTS', list) == 1
end

local function is_waiting(id)
  local status = try('HGET', job_prefix .. id, 'status')
  return status == 'waiting_for_prerequisites' or status == 'scheduled' or status == 'created'
end

-- The parent of a job that has closed, and of its heirs, may close in turn.
local function leave(id, parent)
  if try('SREM', rel_key(parent, 'active'), id) ~= 1 or not closed(parent) then return end
  local of = try('HMGET', job_prefix .. parent, 'status', 'rel') or {}
  release(parent, of[1] or 'error', of[2] or '-')
end

-- Works on one job. True: it is done with.
local function work(id, status, parent)
  local key = job_prefix .. id
  local now_is, rel = unpack(try('HMGET', key, 'status', 'rel') or {})
  -- It was retried, or a foreign actor has even ended it again and nobody has noticed: its next end comes here again.
  if now_is and (not is_final(now_is) or redis.call('ZSCORE', watched_key, id)) then
    -- Or it was deleted, and the job that has its id now is nobody's child.
    if rel ~= parent then leave(id, parent) end
    return true
  end
  status = now_is or status
  if string.sub(parent, 1, 9 + #prefix) == 'conveyor/' .. prefix then
    -- Its children and heirs lie in keys of their own, as bytes that no script reads.
    redis.call('ZADD', conveyor_key, 'NX', now, id .. ' ' .. (status == 'deleted' and 'error' or status) .. ' ' .. parent)
    parent = '-'
  end
  local ids, more = next_of(rel_key(id, 'dependents'))
  for _, other in ipairs(ids) do
    if not step_out(other, 'dependents', id) then -- One that had its id before was meant.
    elseif status == 'finished' then
      has_work(unblock(other))
    else
      give_up(other, told_of('prerequisite', id, status))
    end
  end
  if more then return false end
  ids, more = next_of(rel_key(id, 'children'))
  for _, child in ipairs(ids) do
    if not step_out(child, 'children', id) or not is_waiting(child) then -- It was stopped or deleted meanwhile.
    elseif status == 'finished' then
      insist('SADD', rel_key(id, 'active'), child)
      has_work(unblock(child))
    else
      give_up(child, told_of('parent', id, status))
    end
  end
  if more then return false end
  if redis.call('EXISTS', rel_key(id, 'active')) == 1 then
    -- Kept until its children have ended.
    redis.call('PERSIST', key)
    return true
  end
  ids, more = next_of(rel_key(id, 'onComplete'))
  for _, heir in ipairs(ids) do
    if step_out(heir, 'onComplete', id) then has_work(unblock(heir)) end
  end
  if more then return false end
  if redis.call('TTL', key) == -1 then redis.call('EXPIRE', key, seconds_kept(now_is, try('HMGET', key, unpack(END_FIELDS)) or {})) end
  if parent ~= '-' then leave(id, parent) end
  return true
end

while left > 0 do
  local entry = redis.call('LINDEX', release_key, -1)
  if not entry then break end
  local id, status, parent = string.match(entry, '^(%S+) (%S+) (%S+)$')
  left = left - 1
  if id and not work(id, status, parent) then break end
  -- New entries came at the other end.
  redis.call('RPOP', release_key)
end
flush()
tell_own()
return { redis.call('EXISTS', release_key), unpack(types) }
