-- Flags: allow-oom
-- Receives the stop of a message with jobs from the node that has sent that message: those of its jobs that nobody has
-- taken yet end, and none is answered. If the message has not come yet, its jobs will not run.
-- ARGV  key of the signer · nonce of the message · caller · its number at the sender · time until which the message may come, ms
-- Gives {'stopped', or 'known' (that stop came before); of each job of the message that had not ended: its id · 'ended', or 'open': it
--       has to be stopped as any other}; or nothing was done: {'signer'} (another node has sent that message) or {'crowded'} (too many
--       messages of the signer are known).
local try = commands.try

-- The distance from either end of a queue within which a job is searched. A job that is deeper stays there, and is
-- skipped when its turn comes, because its hash says that it has ended.
local LOOKED_AMONG = 256
-- The statuses of a job that nobody has taken yet.
local WAITS = { dispatched = true, waiting_for_prerequisites = true, [''] = true }

-- Removes a job from the queue of a runner.
local function unqueue(queue, name)
  if try('LPOS', queue, name, 'RANK', -1, 'MAXLEN', LOOKED_AMONG) then
    try('LREM', queue, -1, name)
  elseif try('LPOS', queue, name, 'MAXLEN', LOOKED_AMONG) then
    try('LREM', queue, 1, name)
  end
end

-- Ends the jobs of a message, as far as that is done here.
local function stop_jobs(element)
  local stopped, now = {}, coordinator.seconds()
  for name in string.gmatch(try('HGET', messages.key(element), 'made') or '', 'job:%d+:%d+') do
    local key = keys.prefix .. name
    local of, being_stopped, script_type, theirs = unpack(try('HMGET', key, 'message', 'stopped_with', 'script_type', 'status') or {})
    -- The job of another message may have that name by now; and an answered job no longer belongs to its sender, even
    -- if somebody runs it again.
    if of == element or being_stopped == element then
      local id = layouts.id_of(key)
      local status = jobs.status(id)
      -- Nobody waits for its result any more.
      try('ZREM', keys.answers, name)
      try('HDEL', key, 'message')
      if status and not values.is_final(status) then
        -- Until it has ended: the stop comes again if it is not carried out now.
        try('HSET', key, 'stopped_with', element)
        stopped[#stopped + 1], stopped[#stopped + 2] = id, 'open'
      elseif WAITS[theirs or ''] then
        unqueue(keys.runner_queue(script_type or jobs.DEFAULT_TYPE), name)
        try('HSET', key, 'status', 'error', 'result', '{"error":"stopped"}', 'updated_at', now)
        stopped[#stopped + 1], stopped[#stopped + 2] = id, 'ended'
      end
    end
  end
  return stopped
end

return function()
  local signer, nonce, caller, number, again = request.take_many(5)
  envelopes.forget()
  local element, is_of_another = messages.that_came(signer, nonce, caller, number)
  if is_of_another then return { 'signer' } end
  local stop = envelopes.stop_of(envelopes.known(signer, nonce))
  local is_known = redis.call('ZSCORE', keys.nonces, stop)
  if not is_known and not element and envelopes.is_crowded(signer) then return { 'crowded' } end
  envelopes.know(signer, stop, again)
  local stopped = element and stop_jobs(element) or {}
  if #stopped > 0 then
    local key = messages.key(element)
    messages.set_status(key, 'error')
    try('HSET', key, 'error', 'its sender has stopped it')
    messages.log(key, 'its sender has stopped it')
  end
  return { is_known and 'known' or 'stopped', unpack(stopped) }
end
