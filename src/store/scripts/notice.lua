#!lua flags=allow-oom
-- Takes note of jobs that outsiders wrote: they come into the index, and what follows from the state in which they are happens.
-- ARGV  9 the time a day ago   10 so long a job that nobody starts is kept, ms   11… ids
-- Gives {number of jobs that were new, script types that have work …}.
local day_ago, given_up, new = ARGV[9], now + ARGV[10], 0
-- What was followed for them.
local admits = {}

local function notice(id)
  -- Nearly all are, and this is all that they cost.
  if not is_uuid(id) or is_known(id) then return end
  local key = job_prefix .. id
  local job = redis.call('HMGET', key, 'status', 'id', 'script', 'updated_at', 'created_at', 'run_at_ms', 'script_type', 'group', 'instance', 'priority',
    unpack(END_FIELDS))
  if not (job[1] or job[2] or job[3]) then return end
  -- One that was heard of is watched until what follows from its state has happened.
  local settled = redis.call('HEXISTS', key, 'unseen') == 1 and not redis.call('ZSCORE', watched_key, id)
  local status, last, script_type, admitted = job[1] or 'dispatched', job[4] or job[5] or '', job[7] or 'osis', nil
  local old = string.find(last, '^%d%d%d%d%-%d%d%-%d%dT') and last < day_ago
  if not settled and (status == 'dispatched' or status == 'waiting_for_prerequisites' and not old) then
    admitted = admit(id, nil, admits)
    -- Too much was followed in this call; it is new to a later one.
    if admitted == nil then return end
  else
    list_noticed(id, job[5])
    redis.call('HDEL', key, 'unseen')
    if status == 'error' then list_error(id) end
  end
  new = new + 1
  if settled then return end

  if status == 'dispatched' then
    if admitted then redis.call('ZADD', watched_key, now, id) end
  elseif is_final(status) and not old then
    settle(id, status)
  elseif is_final(status) then
    if redis.call('TTL', key) == -1 then redis.call('EXPIRE', key, seconds_kept(status, of_end(job, 11))) end
    if job[18] then release(id, status, job[18]) end
  elseif old then
    -- It stays as it was left long ago, and nothing else says where it is.
    insist('ZADD', status_key('left'), string.format('%.0f', now), id)
  elseif status == 'started' then
    redis.call('ZADD', watched_key, now, id)
  elseif status == 'created' then
    redis.call('ZADD', scheduled_key, given_up, id)
  elseif status == 'scheduled' then
    redis.call('ZADD', scheduled_key, number(job[6], now), id)
  elseif status == 'waiting_for_prerequisites' and admitted then
    begin(id, 0, script_type, work_key(script_type, job[8], job[9], job[10]), nil, 0)
    has_work(script_type)
  end
end

for at = 11, #ARGV do notice(ARGV[at]) end
flush()
tell_own()
return { new, unpack(types) }
