#!lua flags=allow-oom
-- Works off the end of a conveyor job: its children run or end with it, and once they are closed its heirs run and it leaves its parent.
-- ARGV  9 entry   10 what conveyor keys begin with   11 id   12 'finished' or 'error'   13 parent or ''
--       14 the job with the reason of its failure, or ''   15 number of children, each:
--          bytes · uuid, or '' (no job) · queue · due time in seconds, or '' · the job as it fails with its parent
--       then heirs, each: bytes · queue, or '' (no job) · due time in seconds, or ''
-- Gives 'open' (it runs again) · 'more' (there are more relatives) · 'waits' (for its children) · 'closed'.
local entry, at, id, outcome, parent, failed = ARGV[9], ARGV[10], ARGV[11], ARGV[12], ARGV[13], ARGV[14]
local place = 15
local function take() place = place + 1; return ARGV[place] end
local children, active, heirs = conveyor_job_key(at, id, 'children'), conveyor_job_key(at, id, 'active'), conveyor_job_key(at, id, 'onComplete')

local status = try('HGET', job_prefix .. id, 'status')
if status and not is_final(status) then
  redis.call('ZREM', conveyor_key, entry)
  return 'open'
end

-- Puts a job on its way. False: the key that takes it is none of conveyor's.
local function send(bytes, queue, due)
  if due ~= '' and tonumber(due) * 1000 > now then return try('ZADD', at .. 'scheduled', due, bytes) and true end
  return try('LPUSH', at .. 'queue:' .. queue, bytes) and true
end

local function release_child(bytes, uuid, queue, due, as_failed)
  if uuid == '' then
    set_aside(at, bytes)
  elseif outcome == 'finished' then
    insist('SADD', active, uuid)
    if not send(bytes, queue, due) then
      redis.call('SREM', active, uuid)
      set_aside(at, bytes)
    end
  elseif redis.call('EXISTS', job_prefix .. uuid) == 1 then
    -- It runs already, or has: somebody added it twice.
    set_aside(at, as_failed)
  else
    redis.call('SET', conveyor_job_key(at, uuid), as_failed)
    conveyor_ended(at, uuid, 'error')
  end
end

for _ = 1, tonumber(ARGV[15]) do
  local bytes, uuid, queue, due, as_failed = take(), take(), take(), take(), take()
  if lies_in(children, bytes) then
    release_child(bytes, uuid, queue, due, as_failed)
    redis.call('LREM', children, -1, bytes)
  end
end
if (try('LLEN', children) or 0) > 0 then return 'more' end
if (try('SCARD', active) or 0) > 0 then
  -- The last of them brings the entry back.
  redis.call('ZREM', conveyor_key, entry)
  return 'waits'
end
while place < #ARGV do
  local bytes, queue, due = take(), take(), take()
  if lies_in(heirs, bytes) then
    if queue == '' or not send(bytes, queue, due) then set_aside(at, bytes) end
    redis.call('LREM', heirs, -1, bytes)
  end
end
if (try('LLEN', heirs) or 0) > 0 then return 'more' end
if redis.call('DEL', conveyor_job_key(at, id)) == 1 and failed ~= '' then set_aside(at, failed) end
leave_conveyor_parent(at, id, parent)
redis.call('ZREM', conveyor_key, entry)
return 'closed'
