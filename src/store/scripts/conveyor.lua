-- What the scripts of the conveyor dialect share; stands behind foreign.lua. `at` is what its keys begin with (keys/conveyor.rs).

local function conveyor_job_key(at, id, what) return at .. 'jobs:' .. id .. (what and ':' .. what or '') end

local function conveyor_relation(at) return 'conveyor/' .. at end

-- Whether an element is still in a list. It is taken out last, so that a Redis without memory refuses before anything is lost.
local function lies_in(list, element) return try('LPOS', list, element, 'RANK', -1) and true or false end

-- Keeps what failed for good, the latest first. False: the key is no list.
local FAILED, FAILED_SECONDS = 1000, 604800
local function set_aside(at, element)
  local key = at .. 'failed'
  local reply = redis.pcall('LPUSH', key, element)
  if type(reply) == 'table' and reply.err then
    -- Anything else, such as no memory, passes: then the whole script is tried again.
    if string.find(reply.err, 'WRONGTYPE', 1, true) then return false end
    redis.call('LPUSH', key, element)
  end
  redis.call('LTRIM', key, 0, FAILED - 1)
  redis.call('EXPIRE', key, FAILED_SECONDS)
  return true
end

-- Has the end of a conveyor job worked off.
local function conveyor_ended(at, id, status)
  redis.call('ZADD', conveyor_key, 'NX', now, id .. ' ' .. status .. ' ' .. conveyor_relation(at))
end

-- A child is closed, however it ended: its parent may close in turn.
local function leave_conveyor_parent(at, id, parent)
  if not is_uuid(parent) then return end
  local active = conveyor_job_key(at, parent, 'active')
  if try('SREM', active, id) ~= 1 or redis.call('EXISTS', active) == 1 then return end
  local status = try('HGET', job_prefix .. parent, 'status')
  if status and not is_final(status) then return end -- It still runs, and closes when it has ended.
  -- One that is known to nobody has not begun, or is closed.
  if status or redis.call('EXISTS', conveyor_job_key(at, parent)) == 1 then conveyor_ended(at, parent, status or 'finished') end
end
