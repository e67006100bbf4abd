-- Flags: allow-oom
-- Makes the context accept nothing new, before all of it is deleted.
-- ARGV  'stop' (in any case) or 'idle' (only if no job of it runs or waits, and no message waits to be sent, for its
--       result, or for the other side to know that its job was stopped)
-- Gives {1, 0, 0, 0, 0}; or {0, number of running jobs · in queues · waiting for their time · such messages} if it has
-- some.
local function many(key) return commands.try('ZCARD', key) or 0 end

-- The number of messages that wait to be sent, for their result, or for others to know of their stop.
local function many_messages()
  local to_send = many(keys.resting)
  for _, list in ipairs({ keys.msg_out, unpack(messages.in_hand()) }) do to_send = to_send + (commands.try('LLEN', list) or 0) end
  -- Others may have taken some, without a verdict yet.
  return many(keys.open_messages) + many(keys.stops) + math.max(to_send, many(keys.unsent))
end

return function()
  local running, queued, scheduled = many(keys.leases), many(keys.watched), many(keys.scheduled)
  scheduled = scheduled + links.many_unshown()
  -- Jobs that came with messages are in queues of runners until a pool takes them, and are not watched there.
  queued = math.max(queued, many(keys.answers) - running - scheduled)
  local under_way = many_messages()
  if request.take() == 'idle' and running + queued + scheduled + under_way > 0 then
    return { 0, running, queued, scheduled, under_way }
  end
  redis.call('SET', keys.closed, request.server)
  if redis.call('EXISTS', keys.rights) == 1 then
    access.change_context()
    commands.insist('HSET', keys.rights, 'status', 'deleting')
  end
  return { 1, 0, 0, 0, 0 }
end
