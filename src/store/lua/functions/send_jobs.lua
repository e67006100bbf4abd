-- Flags:
-- Takes jobs of a runner that is elsewhere out of their queue, and stores a message for each: both or neither. One for
-- which a number is still looked for goes back.
-- ARGV  script type · group · how many at most · the most jobs that may run in the context, or 0 · lease, ms · timeout_ack, s ·
--       timeout_result, s · context at the other side · topic · address · key of the runner, or ''
-- Gives how many were taken.
-- Where the values of jobs.GIVEN stand in what a turn gives for a job.
local CREATED_AT, TIMEOUT, CALLER = 6, 10, 11
-- How many messages may wait for a result.
local MOST_AWAY = 10000

return function()
  local script_type, group, most, most_running, lease, ack, result, context, topic, address, runner_key = request.take_many(11)
  local away = commands.try('ZCARD', keys.open_messages) or 0
  local room = math.min(tonumber(most), MOST_AWAY - away, messages.MOST_OUT - messages.waiting())
  local served, owners = {}, {}
  for at, priority in ipairs({ '0', '1', '2' }) do
    served[at], owners[at] = keys.work(script_type, group, nil, priority), '0'
  end
  -- What is sorted by caller lies elsewhere.
  if room <= 0 or redis.call('EXISTS', keys.fair, unpack(served)) == 0 then return 0 end
  request.server = messages.AWAY
  local actor = script_type .. ':' .. group .. ':0'
  local turn = { lease, script_type, 0, { actor }, room, served, owners, '', tonumber(most_running), 0 }
  local _, taken = unpack(calling.with(turn, functions.turn))
  for _, job in ipairs(taken) do
    local _, _, id, attempt, claim = unpack(job, 1, 5)
    local caller = job[CALLER] or '0'
    if not string.find(caller, '^%d+$') or #caller > 10 or tonumber(caller) > 4294967295 then caller = '0' end
    local limit = math.ceil(messages.seconds(job[TIMEOUT], jobs.DEFAULT_TIMEOUT_SECONDS))
    local whole = math.max(tonumber(ack), tonumber(result), limit)
    -- The same for the same claim, and for no other: what is sent again is known there.
    local nonce = string.sub(redis.sha1hex(id .. ' ' .. claim .. ' ' .. (job[CREATED_AT] or '') .. ' ' .. attempt), 1, 32)
    local element, why = messages.send(caller, 'message', '', 'message_type', 'job', 'message_format_type', 'text',
      'timeout', values.digits(whole), 'timeout_ack', ack, 'timeout_result', result, 'job', '[]',
      'target_context', context, 'topic', topic, 'address', address, 'nonce', nonce, 'away', id, 'claim', tostring(claim),
      'runner_key', runner_key)
    if element then
      redis.call('HSET', keys.job(id), 'claimed_by', messages.AWAY, 'away', element)
    elseif why == 'later' then
      -- The next call goes on looking for a number.
      messages.record(id, claim, 'released', '-')
    else
      messages.record(id, claim, 'error', '-', 'unavailable', 'there is no number left for a message', '', '', '', '', '', 1000)
    end
  end
  return #taken
end
