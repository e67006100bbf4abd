#!lua flags=allow-oom
-- Honours stop requests that lie in control queues.
-- ARGV  9… control queues
-- Gives {ids that this server runs and shall stop}. Jobs that were not started end here; requests for others stay and expire.
local mine = {}
for at = 9, #ARGV do
  local queue = ARGV[at]
  local ids = try('LRANGE', queue, 0, 127) or {}
  if #ids > 0 and redis.call('TTL', queue) == -1 then redis.call('EXPIRE', queue, CONTROL_SECONDS) end
  for _, id in ipairs(ids) do
    local job = is_uuid(id) and try('HMGET', job_prefix .. id, 'status', 'attempt', 'lease', 'script_type', 'group', 'instance', 'priority', unpack(END_FIELDS))
    local status = job and (job[1] or redis.call('EXISTS', job_prefix .. id) == 1 and 'dispatched')
    if status == 'started' and job[3] == server then
      redis.call('HSET', job_prefix .. id, 'stop_requested_at', now_text, 'updated_at', now_text)
      mine[#mine + 1] = id
      try('LREM', queue, 0, id)
    elseif is_final(status) then
      try('LREM', queue, 0, id)
    elseif status == 'created' or status == 'scheduled' or status == 'waiting_for_prerequisites' or status == 'dispatched' then
      local of = of_end(job, 8)
      -- It may still lie in a legacy queue, which nobody has looked into; its client waits for the reply of that layout.
      if not of[9] and string.find(queue, 'hero:stop_queue:', 1, true) then of[9] = 'legacy' end
      withdraw(id, job[4], job[5], job[6], job[7])
      fail(id, job[2] or 0, 'stopped', 'stopped', of)
      try('LREM', queue, 0, id)
    end
  end
end
flush()
tell_own()
return mine
