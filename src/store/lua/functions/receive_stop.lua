-- Flags: allow-oom
-- Takes the stop of a message with jobs, by the node that has sent that message: those of its jobs that nobody has taken yet end, and none
-- is answered for. If the message has not come yet, its jobs will not run.
-- ARGV  the key of who signed it · nonce of the message · caller · its number at the sender · until when the message may come, ms
-- Gives {'stopped', or 'known' (that stop came before); of each job of the message that had not ended: its id · 'ended', or 'open': it is
--       to be stopped as any other}; or nothing was done: {'signer'} (another node has sent that message) or {'crowded'} (as many messages
--       are known as may be).
local try = commands.try

-- Ends the jobs of a message, as far as that is done here.
local function stop_jobs(element)
  local stopped, now = {}, coordinator.seconds()
  for name in string.gmatch(try('HGET', messages.key(element), 'made') or '', 'job:%d+:%d+') do
    local key = keys.prefix .. name
    local of, script_type, theirs = unpack(try('HMGET', key, 'message', 'script_type', 'status') or {})
    local id = layouts.id_of(key)
    local status = jobs.status(id)
    -- Nobody waits for its result any more.
    if of == element then
      try('ZREM', keys.answers, name)
      try('HDEL', key, 'message')
    end
    if status and not values.is_final(status) then
      stopped[#stopped + 1], stopped[#stopped + 2] = id, 'open'
    elseif not status and of == element and theirs == 'dispatched' then
      try('LREM', keys.runner_queue(script_type or jobs.DEFAULT_TYPE), 0, name)
      try('HSET', key, 'status', 'error', 'result', '{"error":"stopped"}', 'updated_at', now)
      stopped[#stopped + 1], stopped[#stopped + 2] = id, 'ended'
    end
  end
  return stopped
end

return function()
  local signer, nonce, caller, number, again = request.take_many(5)
  messages.forget()
  local element, is_of_another = messages.that_came(signer, nonce, caller, number)
  if is_of_another then return { 'signer' } end
  local stop = messages.stop_of(messages.known(signer, nonce))
  local is_known = redis.call('ZSCORE', keys.nonces, stop)
  if not is_known and not element and redis.call('ZCARD', keys.nonces) >= messages.MOST_KNOWN then return { 'crowded' } end
  redis.call('ZADD', keys.nonces, again, stop)
  local stopped = element and stop_jobs(element) or {}
  if #stopped > 0 then
    local key = messages.key(element)
    messages.set_status(key, 'error')
    try('HSET', key, 'error', 'its sender has stopped it')
    messages.log(key, 'its sender has stopped it')
  end
  return { is_known and 'known' or 'stopped', unpack(stopped) }
end
