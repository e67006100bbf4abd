#!lua flags=allow-oom
-- Moves scheduled jobs of the conveyor dialect to their queues, each once, whoever else looks.
-- ARGV  9 what conveyor keys begin with   10… elements, each: bytes · name of its queue, or '' (no job)
-- Gives for each 'moved' · 'gone' (another server moved it, or its time changed) · 'failed' (set aside) · 'later' (its queue is no list).
local at, answers = ARGV[9], {}
local scheduled = at .. 'scheduled'
-- What cannot be moved shall not stand before what can.
local LATER_SECONDS = 60

local function move(bytes, queue)
  local due = tonumber(redis.call('ZSCORE', scheduled, bytes) or 'inf')
  if due * 1000 > now then return 'gone' end
  local moved = queue ~= '' and try('LPUSH', at .. 'queue:' .. queue, bytes)
  if not moved and (queue ~= '' or not set_aside(at, bytes)) then
    redis.call('ZADD', scheduled, now / 1000 + LATER_SECONDS, bytes)
    return 'later'
  end
  redis.call('ZREM', scheduled, bytes)
  return moved and 'moved' or 'failed'
end

for place = 10, #ARGV, 2 do answers[#answers + 1] = move(ARGV[place], ARGV[place + 1]) end
return answers
