-- Flags: no-writes
-- Looks whether anything is to be done in a context of which no server may know more than that it exists.
-- ARGV  list of queues
-- Gives {the time at which something is due, ms, or '' (nothing is), 1 if queues hold jobs, or 0 · how many keys there are · 1 if messages
--       are under way, which needs a server but no actors, or 0}.
local try = commands.try

local function first(key)
  local _, at = unpack(try('ZRANGE', key, 0, 0, 'WITHSCORES') or {})
  return tonumber(at)
end

-- Whether messages are to be sent or fetched, or a result is awaited, which comes to whoever has asked for it.
local function has_messages()
  return redis.call('EXISTS', keys.msg_out, keys.resting, keys.letters_in, keys.open_messages, unpack(messages.in_hand())) > 0
end

return function()
  local due
  for _, key in ipairs({ keys.scheduled, keys.leases, keys.watched, keys.unwritten, keys.schedules, keys.conveyor_ends,
    keys.flows_to_do, keys.open_messages, keys.answers }) do
    local at = first(key)
    if at and (not due or at < due) then due = at end
  end
  if redis.call('EXISTS', keys.release, keys.results) > 0 then due = 0 end
  local queues = request.take_list()
  local holds = #queues > 0 and redis.call('EXISTS', unpack(queues)) > 0
  return { due and values.digits(due) or '', holds and 1 or 0, redis.call('DBSIZE'), has_messages() and 1 or 0 }
end
