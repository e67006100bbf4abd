-- Flags:
-- Runs an ended job again.
-- ARGV  id · queue length limit · maximum number of relations to follow, or '' for the default
-- Gives {number of relations that were followed, then:
-- 'started', status, script type} · {'illegal', status} · {'missing'} · {'full', length} · {'blocked', id of a
-- prerequisite in error}
-- · {'cycle', status} (it would wait for itself by now) · {'tangled'} (too many relations to tell)
-- · {'more'} (more than may be followed now) · {'later'} (a prerequisite of it is about to be created)}.
local try = commands.try
local read = jobs.reader('status', 'script_type', 'group', 'instance', 'priority', 'attempt', 'prerequisites', 'parent_id', 'id',
  'predecessor_id', 'dependencies', 'actor', 'more_prerequisites', 'worker_id')

-- The fields of the attempt before.
local OF_THE_LAST = {
  'output', 'output_format', 'finished_at', 'usage', 'stop_requested_at', 'failures', 'crashes', 'progress', 'lease', 'seen_at',
  'missing_at', 'started_at', unpack(jobs.ERROR),
}
-- The number of fields that one command deletes.
local AT_ONCE = 1000
-- The cost of a check of a prerequisite, as a part of a followed relation.
local A_LOOK = 0.1

local followed = 0

-- The events and counters of this call are sent in any case, even if the job does not run again.
local function answer(...)
  news.send_all()
  return { math.ceil(followed), ... }
end

-- The existing prerequisites of a job that have not finished; or nil and the reason why it cannot run.
local function unfinished(id, job, may_follow)
  local others, there = relations.prerequisites_of(job.prerequisites, job.dependencies), {}
  for _, other in ipairs(job.more_prerequisites and relations.added_prerequisites(id) or {}) do others[#others + 1] = other end
  if may_follow and #others > may_follow then return nil, 'more' end
  for _, other in ipairs(others) do
    followed = followed + A_LOOK
    local status = jobs.status(other)
    if status == 'error' then return nil, 'blocked', other end
    if not status then
      local held_for = try('HGET', keys.job(id), relations.field_of('dependents', other))
      if held_for and held_for ~= '1' then
        links.show(keys.job(other))
        if not jobs.exists(other) and links.is_staged(held_for) then return nil, 'later' end
      end
    end
    -- A prerequisite that is gone had finished once.
    if status ~= 'finished' and jobs.is_job(other) then there[#there + 1] = other end
    if #there > cycles.MOST_FOLLOWED then return nil, 'tangled' end
  end
  return there
end

-- Clears the state of earlier attempts. The job may have ended while it waited.
local function clear(id, job, script_type)
  local key = keys.job(id)
  attempts.keep_log(id)
  attempts.keep(id, job.attempt, job.status, nil, true)
  redis.call('HDEL', key, unpack(OF_THE_LAST))
  try('ZREM', keys.index_of_status('error'), id)
  redis.call('PERSIST', key)
  redis.call('DEL', keys.reply(id))
  jobs.forget_stops(id, script_type, job.actor, job.worker_id)
  local fields = relations.unlink(id)
  for from = 1, #fields, AT_ONCE do
    redis.call('HDEL', key, unpack(fields, from, math.min(from + AT_ONCE - 1, #fields)))
  end
end

return function()
  local id, limit, may_follow = request.take(), request.take_number(), request.take_number()
  followed = 0
  local closed = access.refuse_closed()
  if closed then return closed end
  local job = read(id)
  if not job or not (job.status or job.id) and not jobs.exists(id) then return { 0, 'missing' } end
  if not values.is_final(job.status) then return { 0, 'illegal', values.status_of(job.status) } end
  if jobs.is_unsettled(id) then
    -- A foreign actor has just ended it, and its own retries come first.
    local status = foreign.settle(id, job.status)
    if not values.is_final(status) then return answer('illegal', status) end
  end
  local script_type = job.script_type or jobs.DEFAULT_TYPE
  local queue = keys.work(script_type, job.group, job.instance, job.priority)
  local length = queues.waiting_in(queue) or math.huge
  if length >= limit then return answer(unpack(queues.full(length))) end
  local there, why, other = unfinished(id, job, may_follow)
  if not there then return answer(why, other) end
  -- Other jobs that ran before may wait for it now.
  local of = { prerequisite = there, dependent = {}, parent = job.parent_id or nil, predecessor = job.predecessor_id or nil }
  local most = may_follow or cycles.MOST_FOLLOWED
  local walk = { left = most }
  local cycle = cycles.find({ [id] = of }, walk, true)
  followed = followed + most - walk.left
  if cycle == true then return answer(may_follow and 'more' or 'tangled') end
  if cycle then return answer('cycle', job.status) end

  clear(id, job, script_type)
  local open = relations.link_prerequisites(id, there)
  if of.predecessor then open = open + relations.link_predecessor(id, of.predecessor) end
  if of.parent then open = open + relations.link_parent(id, of.parent) end
  redis.call('HSET', keys.job(id), 'open', open, 'linked', '1')
  -- A job that begins now closes no cycle.
  if open > 0 then relations.note_change() end
  return answer('started', routing.begin(id, tonumber(job.attempt) or 0, script_type, queue, nil, open), script_type)
end
