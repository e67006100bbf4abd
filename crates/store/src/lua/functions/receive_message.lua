-- Flags:
-- Stores a message that came over a bus: its hash, and with it its jobs and their keys in `queue:{type}`, or its key in `msg_in`.
-- ARGV  'look' (memory may be short) or '-' · queue length limit · maximum number of jobs created per second, or 0
--       · nonce · key of the signer · time until which it may come again, ms · caller · number
--       · number of fields, each: name · value · its jobs, as `message_jobs.take_jobs` reads them, of which only a message
--       of type job has some
-- Gives {'stored', its element, of each of its jobs: name · id}; or nothing was done: {'duplicate'} (it came before, or its sender
--       has stopped it since), {'crowded'} (too many messages of its signer are known) or {'full', 'memory', 'msg_in',
--       'number' (the search for one has to go on) or the answer of `message_jobs.refuse_jobs`}.
return function()
  local look, limit_of_queue, per_second = request.take(), request.take_number(), request.take_number()
  local nonce, signer, again, caller, number = request.take_many(5)
  local fields = {}
  for place = 1, 2 * request.take_number() do fields[place] = request.take() end
  local list = message_jobs.take_jobs()
  envelopes.forget()
  local known = envelopes.known(signer, nonce)
  if redis.call('ZSCORE', keys.nonces, known) then return { 'duplicate' } end
  -- The stop has overtaken it: its jobs do not run.
  if #list > 0 and redis.call('ZSCORE', keys.nonces, envelopes.stop_of(known)) then return { 'duplicate' } end
  local closed = access.refuse_closed()
  if closed then return closed end
  if request.is_nearly_full(look) then return { 'full', 'memory' } end
  if #list == 0 and messages.length(keys.msg_in) >= messages.MOST_IN then return { 'full', 'msg_in' } end
  local refused = message_jobs.refuse_jobs(list, limit_of_queue, per_second)
  if refused then return refused end
  if envelopes.is_crowded(signer) then return { 'crowded' } end
  local function key_of(digits) return keys.message(caller, digits) end
  local own = number
  -- A number of another message stays with that message.
  if redis.call('EXISTS', key_of(own)) == 1 then own = coordinator.next_number('message', key_of) end
  local numbers = own and message_jobs.numbers_of(list)
  if not numbers then return { 'full', 'number' } end
  envelopes.know(signer, known, again)
  local key, element = key_of(own), 'message:' .. caller .. ':' .. own
  redis.call('HSET', key, 'id', own, 'caller_id', caller, 'context_id', keys.context, unpack(fields))
  redis.call('HSET', key, 'sender_id', number, 'nonce', nonce, 'updated_at', coordinator.seconds())
  messages.keep(key)
  -- Its sender stops its jobs by the number that it has there.
  if own ~= number then redis.call('SET', keys.came(known), element, 'EX', math.max(redis.call('TTL', key), 1)) end
  messages.list(element, #list > 0 and 'acknowledged' or 'dispatched')
  if #list > 0 then return { 'stored', element, unpack(message_jobs.make_jobs(element, list, numbers, per_second)) } end
  redis.call('LPUSH', keys.msg_in, element)
  return { 'stored', element }
end
