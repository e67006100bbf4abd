-- Flags:
-- Takes jobs of a runner that is elsewhere from their queue, and stores a message for each: both or neither. A job goes
-- back if the search for a number has to go on.
-- ARGV  script type · group · maximum number of jobs · lease, ms · timeout_ack, s · timeout_result, s · context at the other side · topic ·
--       address · key of the runner, or ''
-- Gives the number of taken jobs.
local try = commands.try

-- The maximum number of jobs of the context that are away; and of one runner, so that a runner that answers none leaves
-- room for others.
local MOST_AWAY, MOST_OF_RUNNER = 10000, 2500
-- The maximum number of messages of a runner on their way to the other side, so that a runner that takes none leaves
-- room for others; and the number of those that a call checks.
local MOST_SENT, LOOKED_AT = 256, 64

-- The number of messages of a runner that are on their way, by a list of sent ones. If there may be no room for `most`
-- more, those that have arrived are removed from it.
local function on_their_way(sent, most, room)
  local length = try('LLEN', sent)
  -- A key of another type, which a foreign program made, is deleted.
  if not length then redis.call('DEL', sent) end
  length = length or 0
  if length + most <= room then return length end
  for _, element in ipairs(try('RPOP', sent, LOOKED_AT) or {}) do
    local waits = messages.is_element(element) and try('HGET', messages.key(element), 'status') == 'dispatched'
    if waits then redis.call('LPUSH', sent, element) else length = length - 1 end
  end
  return length
end

return function()
  local script_type, group, most, lease, ack, result, context, topic, address, runner_key = request.take_many(10)
  local sent = keys.sent(group)
  local room = math.min(tonumber(most), MOST_AWAY - leases.away(), messages.MOST_OUT - messages.waiting())
  local served, owners = queues.of_runner(script_type, group), {}
  for at in ipairs(served) do owners[at] = '0' end
  -- Jobs that are sorted by caller are in another key.
  if room <= 0 or redis.call('EXISTS', keys.fair, unpack(served)) == 0 then return 0 end
  local of_runner = math.min(MOST_OF_RUNNER - messages.awaited_of(group, MOST_OF_RUNNER), MOST_SENT)
  if of_runner > 0 then room = math.min(room, of_runner - on_their_way(sent, tonumber(most), of_runner)) end
  if of_runner <= 0 or room <= 0 then return 0 end
  request.server = messages.AWAY
  local actor = script_type .. ':' .. group .. ':0'
  -- They run elsewhere, so the limits of this context do not apply to them, and they use up none of them.
  local fetch = { leases.AWAY + lease, script_type, 0, { actor }, room, served, owners, '', 0, 0 }
  local _, taken = unpack(calling.with(fetch, functions.fetch))
  for _, fetched in ipairs(taken) do
    local job = jobs.name_fetched(fetched)
    local id, claim, caller = job.id, job.claim, job.caller_id or '0'
    if not string.find(caller, '^%d+$') or #caller > 10 or tonumber(caller) > 4294967295 then caller = '0' end
    local limit = math.ceil(messages.seconds(job.timeout, jobs.DEFAULT_TIMEOUT_SECONDS))
    local whole = math.max(tonumber(ack), tonumber(result), limit)
    -- The same for the same claim, and for no other: the other side recognises a message that is sent again.
    local nonce = string.sub(redis.sha1hex(id .. ' ' .. claim .. ' ' .. (job.created_at or '') .. ' ' .. job.attempt), 1, 32)
    local element, why = messages.send(caller, 'message', '', 'message_type', 'job', 'message_format_type', 'text',
      'timeout', values.digits(whole), 'timeout_ack', ack, 'timeout_result', result, 'job', '[]',
      'target_context', context, 'topic', topic, 'address', address, 'nonce', nonce, 'away', id, 'claim', tostring(claim),
      'runner_key', runner_key, 'runner', group)
    if element then
      redis.call('LPUSH', sent, element)
      redis.call('HSET', keys.job(id), 'claimed_by', messages.AWAY, 'away', element)
    elseif why == 'later' then
      -- The next call goes on looking for a number.
      messages.record(id, claim, 'released', '-')
    else
      messages.record(id, claim, 'error', '-', 'unavailable', 'there is no number left for a message', '', '', '', '', '', 1000)
    end
  end
  -- By then each message has arrived, or failed.
  if #taken > 0 then redis.call('EXPIRE', sent, values.digits(math.ceil(tonumber(ack)) + 3600)) end
  return #taken
end
