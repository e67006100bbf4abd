-- Flags: allow-oom
-- Moves scheduled jobs of the conveyor layout to their queues, each once for any number of servers.
-- ARGV  prefix of conveyor keys · elements, each: bytes · name of its queue, or '' (no job)
-- Gives for each 'moved' · 'gone' (another server moved it, or its time changed) · 'failed' (set aside) · 'later' (its queue is no list).

-- A job that cannot be moved gets a time that is later by this, s, so that it does not block others.
local LATER_SECONDS = 60

local function move(prefix, bytes, queue)
  local scheduled = prefix .. 'scheduled'
  local due = tonumber(redis.call('ZSCORE', scheduled, bytes) or 'inf')
  if due * 1000 > request.now then return 'gone' end
  local moved = queue ~= '' and commands.try('LPUSH', prefix .. 'queue:' .. queue, bytes)
  if not moved and (queue ~= '' or not conveyor.set_aside(prefix, bytes)) then
    redis.call('ZADD', scheduled, request.now / 1000 + LATER_SECONDS, bytes)
    return 'later'
  end
  redis.call('ZREM', scheduled, bytes)
  return moved and 'moved' or 'failed'
end

return function()
  local prefix, answers = request.take(), {}
  while request.has_more() do
    local bytes, queue = request.take(), request.take()
    answers[#answers + 1] = move(prefix, bytes, queue)
  end
  return answers
end
