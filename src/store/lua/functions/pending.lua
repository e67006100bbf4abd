-- Flags: no-writes
-- Looks whether anything is to be done in a context of which no server may know more than that it exists.
-- ARGV  list of queues
-- Gives {the time at which something is due, ms, or '' (nothing is), 1 if queues hold jobs, or 0 · how many keys there are}.
local function first(key)
  local _, at = unpack(commands.try('ZRANGE', key, 0, 0, 'WITHSCORES') or {})
  return tonumber(at)
end

return function()
  local due
  for _, key in ipairs({ keys.scheduled, keys.leases, keys.watched, keys.unwritten, keys.schedules, keys.conveyor_ends,
    keys.flows_to_do }) do
    local at = first(key)
    if at and (not due or at < due) then due = at end
  end
  for _, key in ipairs({ keys.open_messages, keys.answers }) do
    local at = first(key)
    if at and (not due or at < due) then due = at end
  end
  if redis.call('EXISTS', keys.release, keys.msg_out, keys.results) > 0 then due = 0 end
  local queues = request.take_list()
  local holds = #queues > 0 and redis.call('EXISTS', unpack(queues)) > 0
  return { due and values.digits(due) or '', holds and 1 or 0, redis.call('DBSIZE') }
end
