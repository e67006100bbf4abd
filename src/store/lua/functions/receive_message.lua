-- Flags:
-- Stores a message that came over a bus: its hash, and with it its jobs and their keys in `queue:{type}`, or its key in `msg_in`.
-- ARGV  nonce · until when it may come again, ms · caller · number · number of fields, each: name · value · its jobs, as
--       `messages.take_jobs` reads them, of which only a message of type job has some
-- Gives {'stored', its element, of each of its jobs: name · id}, {'duplicate'} (it came before; nothing was done) or {'full'} (nothing
-- was done).
local insist = commands.insist
local MOST_NONCES = 200000

return function()
  local nonce, again, caller, number = request.take_many(4)
  local fields = {}
  for place = 1, 2 * request.take_number() do fields[place] = request.take() end
  local list = messages.take_jobs()
  insist('ZREMRANGEBYSCORE', keys.nonces, '-inf', request.now)
  if redis.call('ZSCORE', keys.nonces, nonce) then return { 'duplicate' } end
  local full = #list == 0 and messages.length(keys.msg_in) >= messages.MOST_IN
  if full or not messages.have_room(list) or redis.call('ZCARD', keys.nonces) >= MOST_NONCES then return { 'full' } end
  local function key_of(digits) return keys.message(caller, digits) end
  local own = number
  -- A number that another message has is not taken from it.
  if redis.call('EXISTS', key_of(own)) == 1 then own = coordinator.next_number('message', key_of) end
  if not own then return { 'full' } end
  redis.call('ZADD', keys.nonces, again, nonce)
  local key, element = key_of(own), 'message:' .. caller .. ':' .. own
  redis.call('HSET', key, 'id', own, 'caller_id', caller, 'context_id', keys.context, unpack(fields))
  redis.call('HSET', key, 'sender_id', number, 'nonce', nonce, 'updated_at', coordinator.seconds())
  messages.keep(key)
  if #list > 0 then return { 'stored', element, unpack(messages.make_jobs(element, list)) } end
  redis.call('LPUSH', keys.msg_in, element)
  return { 'stored', element }
end
