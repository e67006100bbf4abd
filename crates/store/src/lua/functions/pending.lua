-- Flags: no-writes
-- Checks whether there is work in a context of which no server may know more than that it exists.
-- ARGV  list of queues
-- Gives {the time at which something is due, ms, or '' (nothing is), 1 if queues have jobs, or 0 · number of keys ·
--       the time from which messages need a server without actors, ms (0 is now), or '' (none do)}.
local try = commands.try

-- The number of newest messages in `msg_in` that are read.
local MOST_CAME = 16
-- A message that rests needs a server this long before its time, ms.
local SOON = 5000

local function first(key)
  local _, at = unpack(try('ZRANGE', key, 0, 0, 'WITHSCORES') or {})
  return tonumber(at)
end

-- True if another program has put a message into `msg_in` whose jobs are to be created.
local function has_runner_jobs()
  for _, element in ipairs(try('LRANGE', keys.msg_in, 0, MOST_CAME - 1) or {}) do
    if messages.is_element(element) and try('HGET', messages.key(element), 'message_type') == 'job' then return true end
  end
  return false
end

-- Gives the time from which messages are to be sent, fetched or answered, others are to be told of stops, or a result
-- is awaited, which comes to a server that has asked for it; 0: now, nil: never.
local function messages_due()
  local places = { keys.msg_out, keys.envelopes_in, keys.open_messages, keys.answers, keys.results, unpack(messages.in_hand()) }
  if redis.call('EXISTS', unpack(places)) > 0 or has_runner_jobs() then return 0 end
  local due
  for _, key in ipairs({ keys.resting, keys.stops, keys.unsent }) do
    local at = first(key)
    if at and (not due or at - SOON < due) then due = at - SOON end
  end
  return due
end

return function()
  local due = leases.first_over()
  for _, key in ipairs({ keys.scheduled, keys.watched, keys.unwritten, keys.schedules, keys.conveyor_ends,
    keys.flows_to_do, keys.staging }) do
    local at = first(key)
    if at and (not due or at < due) then due = at end
  end
  if redis.call('EXISTS', keys.holding) > 0 and redis.call('EXISTS', keys.staging) == 0 then due = 0 end
  local is_behind = clock_step.is_behind(clock_step.last_look())
  if is_behind or redis.call('EXISTS', keys.release, keys.linking) > 0 then due = 0 end
  local queues = request.take_list()
  local holds = #queues > 0 and redis.call('EXISTS', unpack(queues)) > 0
  local from = messages_due()
  return { due and values.digits(due) or '', holds and 1 or 0, redis.call('DBSIZE'), from and values.digits(from) or '' }
end
