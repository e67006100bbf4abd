-- Flags:
-- Stores the token of a login by a signature, once for each nonce.
-- ARGV  identity · its public key · identifier of the nonce · expiry of the nonce, ms · id of the token · record, JSON
-- Gives 'stored', 'missing' (there is no such identity, or it has another key), 'over' or 'used' (the nonce is) or 'taken' (the id is).

-- The time for which a used nonce is remembered after its expiry, ms: clocks differ, and may be set back.
local LONGER = 60000

return function()
  local identity, public_key, nonce = request.take_many(3)
  local ends, id, record = request.take_number(), request.take_many(2)
  if access.with_public_key(public_key) ~= identity or access.admit(identity) then return 'missing' end
  if ends <= request.now then return 'over' end
  local used = keys.nonce(nonce)
  if redis.call('EXISTS', used) == 1 then return 'used' end
  if commands.insist('HSETNX', keys.tokens, id, record) == 0 then return 'taken' end
  local _, logins, first = access.tokens_of(identity)
  if logins >= access.MOST_LOGINS and first then
    access.forget(first)
    access.changed()
  end
  redis.call('SET', used, identity, 'PX', values.digits(ends - request.now + LONGER))
  commands.insist('SADD', keys.tokens_of(identity), id)
  return 'stored'
end
