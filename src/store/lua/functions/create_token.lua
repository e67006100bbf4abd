-- Flags:
-- Stores a token of an identity.
-- ARGV  identity · id of the token · record, JSON
-- Gives 'stored', 'missing' (there is no such identity), 'taken' (the id is) or 'full'.
return function()
  local identity, id, record = request.take_many(3)
  if not access.is_identity(identity) then return 'missing' end
  -- What is over makes room.
  for _, other in ipairs(commands.try('SMEMBERS', keys.tokens_of(identity)) or {}) do
    local known = commands.try('HGET', keys.tokens, other)
    local expires = known and tonumber(string.match(known, '"expires_ms":(%d+)'))
    if expires and expires <= request.now then access.forget(other) end
  end
  if (commands.try('SCARD', keys.tokens_of(identity)) or 0) >= access.MOST_TOKENS then return 'full' end
  if commands.insist('HSETNX', keys.tokens, id, record) == 0 then return 'taken' end
  commands.insist('SADD', keys.tokens_of(identity), id)
  return 'stored'
end
