-- Shared by the functions of the conveyor layout. `prefix` is the prefix of its keys
-- (crates/store/src/keys/conveyor.rs).
local try = commands.try
local conveyor = {}

-- The number of failed jobs that are kept.
local FAILED = 1000
-- The time for which failed jobs are kept, s.
local FAILED_SECONDS = 604800

function conveyor.job_key(prefix, id, what) return prefix .. 'jobs:' .. id .. (what and ':' .. what or '') end

-- The value of `rel` in a job of the layout, in place of a parent.
function conveyor.relation(prefix) return 'conveyor/' .. prefix end

-- True if `rel` of a job says that it is of the layout.
function conveyor.is_relation(rel)
  local start = conveyor.relation(keys.prefix)
  return string.sub(rel, 1, #start) == start
end

-- True if an element, which was read from the end of a list, is still near that end. It is removed last, so that a Redis
-- without memory refuses the call before anything is lost.
function conveyor.lies_in(list, element)
  return try('LPOS', list, element, 'RANK', -1, 'MAXLEN', commands.SOUGHT) and true or false
end

-- Keeps a job that has failed for good, the latest first. False: the key is no list.
function conveyor.set_aside(prefix, element)
  local key = prefix .. 'failed'
  local reply = redis.pcall('LPUSH', key, element)
  if type(reply) == 'table' and reply.err then
    -- Any other cause, such as missing memory, passes, and the whole call is repeated.
    if string.find(reply.err, 'WRONGTYPE', 1, true) then return false end
    redis.call('LPUSH', key, element)
  end
  redis.call('LTRIM', key, 0, FAILED - 1)
  redis.call('EXPIRE', key, FAILED_SECONDS)
  return true
end

-- Queues the end of a conveyor job for processing. `relation` is the value of its `rel`.
function conveyor.note_end(id, status, relation)
  redis.call('ZADD', keys.conveyor_ends, 'NX', request.now, id .. ' ' .. status .. ' ' .. relation)
end

function conveyor.ended(prefix, id, status) conveyor.note_end(id, status, conveyor.relation(prefix)) end

-- A child is closed, with whatever outcome. Its parent may close next.
function conveyor.leave_parent(prefix, id, parent)
  if not values.is_uuid(parent) then return end
  local active = conveyor.job_key(prefix, parent, 'active')
  if try('SREM', active, id) ~= 1 or redis.call('EXISTS', active) == 1 then return end
  local status = jobs.status(parent)
  if status and not values.is_final(status) then return end -- It still runs, and closes when it has ended.
  -- A job without a hash and an entry has not begun, or is closed.
  if status or redis.call('EXISTS', conveyor.job_key(prefix, parent)) == 1 then conveyor.ended(prefix, parent, status or 'finished') end
end

return conveyor
