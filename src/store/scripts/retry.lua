-- Runs a job again that has ended.
-- ARGV  9 id   10 queue length limit   11 no more relations may be followed, or '': as many as ever
-- Gives {number of relations that were followed, then:
-- 'started', status, script type} · {'illegal', status} · {'missing'} · {'full', length} · {'blocked', id of a prerequisite in error}
-- · {'circle', status} (it would wait for itself by now) · {'tangled'} (too many relations to tell)
-- · {'more'} (more than may be followed now)}.
local id, limit, may_follow, followed = ARGV[9], tonumber(ARGV[10]), tonumber(ARGV[11]), 0
local key = job_prefix .. id
local job = try('HMGET', key, 'status', 'script_type', 'group', 'instance', 'priority', 'attempt', 'prerequisites', 'parent_id', 'id', 'predecessor_id',
  'dependencies', 'actor', 'more_prerequisites', 'worker_id')
if not job or not (job[1] or job[9]) and redis.call('EXISTS', key) == 0 then return { 0, 'missing' } end
if not is_final(job[1]) then return { 0, 'illegal', job[1] or 'dispatched' } end

-- What was noticed on the way counts, also when the job does not run again.
local function refused(...)
  flush()
  tell_own()
  return { math.ceil(followed), ... }
end

if is_unsettled(id) then
  -- A foreign actor has just ended it, and its own retries come first.
  local status = settle(id, job[1])
  if not is_final(status) then return refused('illegal', status) end
end
local script_type = job[2] or 'osis'
local queue = work_key(script_type, job[3], job[4], job[5])
local length = waiting_in(queue) or limit
if length >= limit then return refused('full', length) end
local others, there = prerequisites_of(job[7], job[11]), {}
for _, other in ipairs(job[13] and added_prerequisites(id) or {}) do others[#others + 1] = other end
if may_follow and #others > may_follow then return refused('more') end
for _, other in ipairs(others) do
  followed = followed + 0.1
  local status = try('HGET', job_prefix .. other, 'status')
  if status == 'error' then return refused('blocked', other) end
  -- A prerequisite that is gone had finished once.
  if status ~= 'finished' and is_job(other) then there[#there + 1] = other end
  if #there > MOST_FOLLOWED then return refused('tangled') end
end
-- Others that ran before may wait for it now.
local of = { prerequisite = there, dependent = {}, parent = job[8] or nil, predecessor = job[10] or nil }
local most = may_follow or MOST_FOLLOWED
local walk = { left = most }
local circle = find_cycle({ [id] = of }, walk, true)
followed = followed + most - walk.left
if circle == true then return refused(may_follow and 'more' or 'tangled') end
if circle then return refused('circle', job[1]) end
redis.call('HDEL', key, 'output', 'output_format', 'error', 'error_kind', 'error_line', 'error_column', 'error_stack', 'error_limit', 'finished_at', 'usage',
  'stop_requested_at', 'failures', 'crashes', 'progress', 'lease', 'seen_at', 'missing_at', 'started_at')
try('ZREM', status_key('error'), id)
redis.call('PERSIST', key)
redis.call('PERSIST', log_key(id))
redis.call('DEL', reply_prefix .. id)
forget_stops(id, script_type, job[12], job[14])
-- It may have ended while it waited.
local standings = unlink(id)
for from = 1, #standings, 1000 do redis.call('HDEL', key, unpack(standings, from, math.min(from + 999, #standings))) end
local open = link_prerequisites(id, there)
if job[10] then open = open + link_predecessor(id, job[10]) end
if job[8] then open = open + link_parent(id, job[8]) end
redis.call('HSET', key, 'open', open, 'linked', '1')
local status = begin(id, tonumber(job[6]) or 0, script_type, queue, nil, open)
flush()
tell_own()
return { math.ceil(followed), 'started', status, script_type }
