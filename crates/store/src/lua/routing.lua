-- Routes jobs: puts them into a queue, the scheduled jobs, or a list of waiting jobs, and removes them from there.
local try, insist = commands.try, commands.insist
local routing = {}

-- The time that a job waits whose queue is no list, ms.
routing.AGAIN = 5000

local read_target = jobs.reader('dialect', 'script_type', 'worker_id')

-- Puts a job into its queue; if the key is no list, the promoter tries again later. Returns its status, and the queue where it is.
function routing.enqueue(queue, script_type, id, again)
  local job, shadow, only = read_target(id), nil, nil
  if job.dialect then
    layouts.mirror(id, job.dialect, 'dispatched')
    local was_left
    shadow, only, was_left = layouts.shadow_of(id)
    if was_left then redis.call('HDEL', keys.job(id), 'twin_only') end
  elseif not job.script_type and job.worker_id and job.worker_id ~= '' then
    -- A foreign job that names no script type goes to the worker that it names.
    queue = keys.work_queue(job.worker_id)
  end
  local pushed = shadow and try('LPUSH', shadow, id)
  if not only then pushed = queues.push(queue, script_type, id, again) end
  if pushed then
    queues.watch(id, script_type, shadow)
    return 'dispatched', not only and queue or nil
  end
  redis.call('HSET', keys.job(id), 'status', 'scheduled')
  insist('ZADD', keys.scheduled, request.now + routing.AGAIN, id)
  return 'scheduled'
end

-- Puts a job back so that it is taken next. `job` has its group, instance and priority.
function routing.requeue(id, attempt, kind, script_type, job)
  redis.call('HSET', keys.job(id), 'status', 'dispatched', 'lease', '', 'attempt', attempt, 'queued_at', request.now_text,
    'updated_at', request.now_text)
  -- The next run reports its own progress.
  redis.call('HDEL', keys.job(id), 'progress')
  local queue = keys.work(script_type, job.group, job.instance, job.priority)
  local status = routing.enqueue(queue, script_type, id, true)
  news.event(id, status, attempt, kind)
end

-- Puts a job on its way: to its time (ms) if that is in the future, behind the jobs it waits for, or into its queue.
-- Returns its status after that, and the queue where it is, if it is in one.
function routing.begin(id, attempt, script_type, queue, due, open)
  local key, status, place = keys.job(id), 'waiting_for_prerequisites', nil
  if due and due > request.now then
    status = 'scheduled'
    redis.call('HSET', key, 'status', status, 'updated_at', request.now_text)
    news.schedule(id, due)
  else
    try('ZREM', keys.scheduled, id)
    if open > 0 then
      redis.call('HSET', key, 'status', status, 'updated_at', request.now_text)
      local layout = try('HGET', key, 'dialect')
      if layout then layouts.mirror(id, layout, status) end
    else
      redis.call('HSET', key, 'status', 'dispatched', 'queued_at', request.now_text, 'updated_at', request.now_text)
      status, place = routing.enqueue(queue, script_type, id)
      if status == 'dispatched' then news.count(script_type, status) end
    end
  end
  news.event(id, status, attempt)
  return status, place
end

local read_place = jobs.reader('status', 'queued_at', 'unseen')

-- Removes a job that does not run from everything that would bring it to an actor.
function routing.withdraw(id, script_type, job)
  local shadow = layouts.shadow_of(id)
  if shadow then commands.remove(shadow, id, 1) end
  try('ZREM', keys.scheduled, id)
  local was_watched = try('ZREM', keys.watched, id) == 1
  if not script_type then return end
  local queue, place = keys.work(script_type, job.group, job.instance, job.priority), read_place(id)
  -- Only a job that was put into the queue is somewhere in it.
  local is_there = was_watched and place and place.status == 'dispatched' and place.queued_at and not place.unseen
  if is_there then queues.withdraw(queue, id)
  elseif commands.remove(queue, id, 1) then queues.drops(queue, id)
  end
end

return routing
