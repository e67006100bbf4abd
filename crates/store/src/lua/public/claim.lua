-- Flags: allow-oom
-- Takes the next job from queues for an actor, with a lease.
-- KEYS  the work queues, in the order of service
-- ARGV  owner · context · actor ('type:group:instance') · lease, ms
-- Gives {} (there is nothing to do) or {'id', its id, 'claim', the number of this claim, 'attempt', …, then field · value of the fields
-- that the job has}.
-- While memory is full, the actors of a script type and group take one job per this time, ms, because waiting jobs may
-- be what fills Redis. The number of groups whose last time is kept.
local TRICKLE, MOST_KEPT = 1000, 1024
local last, kept = {}, 0

local function note_last(pool)
  if kept == MOST_KEPT then last, kept = {}, 0 end
  if not last[pool] then kept = kept + 1 end
  last[pool] = request.now
end

return function(names)
  local actor, lease = request.take(), calling.lease_of(request.take())
  local script_type, group, instance = string.match(actor or '', '^([^:]+):([^:]+):(%d+)$')
  if not (values.is_actor(script_type, group, instance) and lease) then
    return redis.error_reply("ERR the third argument is the actor, 'type:group:instance', the fourth its lease, from 1 ms to a day")
  end
  local pool, is_full = string.match(actor, '^[^:]+:[^:]+'), calling.is_full()
  if is_full and math.abs(request.now - (last[pool] or 0)) < TRICKLE then return {} end
  local owners = {}
  for at, queue in ipairs(names) do
    -- As pools say it: the jobs of a queue that belongs to no instance may be sorted by caller, and then that order
    -- holds.
    owners[at] = string.find(queue, ':inst:', 1, true) and '1' or '0'
  end
  local _, taken = unpack(calling.with({ lease, script_type, 0, { actor }, 1, names, owners, '', 0, 0 }, functions.fetch))
  if #taken == 0 then return {} end
  local job = jobs.name_fetched(taken[1])
  if is_full then note_last(pool) end
  redis.call('HSET', keys.job(job.id), 'claimed_by', request.server)
  local answer = { 'id', job.id, 'claim', tostring(job.claim), 'attempt', tostring(job.attempt) }
  for _, name in ipairs(jobs.GIVEN) do
    if job[name] then answer[#answer + 1], answer[#answer + 2] = name, job[name] end
  end
  return answer
end
