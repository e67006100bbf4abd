-- Flags: allow-oom
-- Handles stop requests in control queues.
-- ARGV  control queues …
-- Gives {ids that this server runs and has to stop}. Jobs that were not started, and those that are away, end here.
-- Others are marked and their owners told; those requests stay and expire, for owners that read them themselves.
local try = commands.try
local read = jobs.end_reader('status', 'attempt', 'lease', 'script_type', 'group', 'instance', 'priority',
  'stop_requested_at')

-- The number of requests of a queue that are read at once.
local MOST = 128

local function honour(queue, id, mine)
  local job = values.is_uuid(id) and read(id)
  local status = job and (job.status or jobs.exists(id)) and values.status_of(job.status)
  if status == 'started' and job.lease == request.server then
    redis.call('HSET', keys.job(id), 'stop_requested_at', request.now_text, 'updated_at', request.now_text)
    mine[#mine + 1] = id
    commands.remove_all(queue, id)
  elseif status == 'started' and job.lease == messages.AWAY then
    messages.stop(id, job)
    commands.remove_all(queue, id)
  elseif status == 'started' then
    if job.stop_requested_at then return end
    redis.call('HSET', keys.job(id), 'stop_requested_at', request.now_text, 'updated_at', request.now_text)
    if job.lease and job.lease ~= '' then redis.call('PUBLISH', keys.inbox(job.lease), 'stop ' .. keys.context .. ' ' .. id) end
  elseif values.is_final(status) then
    commands.remove_all(queue, id)
  elseif values.is_waiting(status) or status == 'dispatched' then
    -- It may still be in a legacy queue, and not imported yet; its client waits for the reply of that layout.
    if not job.dialect and string.find(queue, keys.stop_queue(''), 1, true) == 1 then job.dialect = 'legacy' end
    routing.withdraw(id, job.script_type, job)
    ends.fail(id, job.attempt or 0, 'stopped', 'stopped', job)
    commands.remove_all(queue, id)
  end
end

return function()
  local mine = {}
  while request.has_more() do
    local queue = request.take()
    local ids = try('LRANGE', queue, 0, MOST - 1) or {}
    if #ids > 0 and redis.call('TTL', queue) == -1 then redis.call('EXPIRE', queue, jobs.CONTROL_SECONDS) end
    for _, id in ipairs(ids) do honour(queue, id, mine) end
  end
  news.send_all()
  return mine
end
