-- Flags: allow-oom
-- Processes the end of a conveyor job: its children run or end with it. Once they are closed, its continuations run and
-- it leaves its parent.
-- ARGV  entry · prefix of conveyor keys · id · 'finished' or 'error' · parent or '' · the job with the reason of its failure, or ''
--       · number of children, each:
--          bytes · uuid, or '' (no job) · queue · due time in seconds, or '' · the job as it fails with its parent
--       then continuations, each: bytes · queue, or '' (no job) · due time in seconds, or ''
-- Gives 'runs' (again) · 'more' (there are more relatives) · 'waits' (for its children) · 'closed'.
local try = commands.try

-- Puts a job into its queue, or among the scheduled ones. False: that key is of another type.
local function send(prefix, bytes, queue, due)
  if due and due * 1000 > request.now then return try('ZADD', prefix .. 'scheduled', due, bytes) and true end
  return try('LPUSH', prefix .. 'queue:' .. queue, bytes) and true
end

local function release_child(prefix, active, outcome, child)
  if child.id == '' then
    conveyor.set_aside(prefix, child.bytes)
  elseif outcome == 'finished' then
    commands.insist('SADD', active, child.id)
    if not send(prefix, child.bytes, child.queue, child.due) then
      redis.call('SREM', active, child.id)
      conveyor.set_aside(prefix, child.bytes)
    end
  elseif jobs.exists(child.id) then
    -- It runs already, or has run: somebody added it twice.
    conveyor.set_aside(prefix, child.as_failed)
  else
    redis.call('SET', conveyor.job_key(prefix, child.id), child.as_failed)
    conveyor.ended(prefix, child.id, 'error')
  end
end

return function()
  local entry, prefix, id, outcome, parent, failed =
    request.take(), request.take(), request.take(), request.take(), request.take(), request.take()
  local children, active, continuations =
    conveyor.job_key(prefix, id, 'children'), conveyor.job_key(prefix, id, 'active'), conveyor.job_key(prefix, id, 'onComplete')
  local status = jobs.status(id)
  if status and not values.is_final(status) then
    redis.call('ZREM', keys.conveyor_ends, entry)
    return 'runs'
  end
  for _ = 1, request.take_number() do
    local child = {
      bytes = request.take(), id = request.take(), queue = request.take(), due = request.take_number(), as_failed = request.take(),
    }
    if conveyor.lies_in(children, child.bytes) then
      release_child(prefix, active, outcome, child)
      redis.call('LREM', children, -1, child.bytes)
    end
  end
  if (try('LLEN', children) or 0) > 0 then return 'more' end
  if (try('SCARD', active) or 0) > 0 then
    -- The last of them adds the entry again.
    redis.call('ZREM', keys.conveyor_ends, entry)
    return 'waits'
  end
  while request.has_more() do
    local bytes, queue, due = request.take(), request.take(), request.take_number()
    if conveyor.lies_in(continuations, bytes) then
      if queue == '' or not send(prefix, bytes, queue, due) then conveyor.set_aside(prefix, bytes) end
      redis.call('LREM', continuations, -1, bytes)
    end
  end
  if (try('LLEN', continuations) or 0) > 0 then return 'more' end
  if redis.call('DEL', conveyor.job_key(prefix, id)) == 1 and failed ~= '' then conveyor.set_aside(prefix, failed) end
  conveyor.leave_parent(prefix, id, parent)
  redis.call('ZREM', keys.conveyor_ends, entry)
  return 'closed'
end
