-- Flags:
-- Takes jobs of a runner that is elsewhere out of their queue, and stores a message for each: both or neither. One for
-- which a number is still looked for goes back.
-- ARGV  script type · group · how many at most · lease, ms · timeout_ack, s · timeout_result, s · context at the other side · topic ·
--       address · key of the runner, or ''
-- Gives how many were taken.
local try = commands.try

-- Where the values of jobs.GIVEN stand in what a fetch gives for a job.
local CREATED_AT, TIMEOUT, CALLER = 6, 10, 11
-- How many jobs of the context may be away; and how many of a runner, so that one that answers none leaves room for the others.
local MOST_AWAY, MOST_OF_RUNNER = 10000, 2500
-- How many messages of a runner may be on their way to the other side, so that one that takes none leaves room for the others; and how many
-- of those are looked at in a call.
local MOST_SENT, LOOKED_AT = 256, 64

-- How many messages of a runner are on their way, by a list of those that were sent. When there may be no room for so many more, those that
-- have arrived leave it.
local function on_their_way(sent, most, room)
  local length = try('LLEN', sent)
  -- What a foreign program made of it gives way.
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
  -- What is sorted by caller lies elsewhere.
  if room <= 0 or redis.call('EXISTS', keys.fair, unpack(served)) == 0 then return 0 end
  local of_runner = math.min(MOST_OF_RUNNER - messages.awaited_of(group, MOST_OF_RUNNER), MOST_SENT)
  if of_runner > 0 then room = math.min(room, of_runner - on_their_way(sent, tonumber(most), of_runner)) end
  if of_runner <= 0 or room <= 0 then return 0 end
  request.server = messages.AWAY
  local actor = script_type .. ':' .. group .. ':0'
  -- They run elsewhere: what may run here is no limit for them, and they take nothing of it.
  local fetch = { leases.AWAY + lease, script_type, 0, { actor }, room, served, owners, '', 0, 0 }
  local _, taken = unpack(calling.with(fetch, functions.fetch))
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
  -- By then each has arrived, or failed.
  if #taken > 0 then redis.call('EXPIRE', sent, values.digits(math.ceil(tonumber(ack)) + 3600)) end
  return #taken
end
