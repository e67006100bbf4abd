-- Flags:
-- Stores a token of an identity.
-- ARGV  identity · id of the token · record, JSON
-- Gives 'stored', 'missing' (there is no such identity, or another program has written one that is refused), 'over'
-- (the token that creates it is gone), 'taken' (the id is) or 'full'.
return function()
  local identity, id, record = request.take_many(3)
  if access.admit(identity) then return 'missing' end
  local parent = access.parent(record)
  if parent and not commands.try('HGET', keys.tokens, parent) then return 'over' end
  -- Expired tokens make room.
  if access.tokens_of(identity) >= access.MOST_TOKENS then return 'full' end
  if commands.insist('HSETNX', keys.tokens, id, record) == 0 then return 'taken' end
  commands.insist('SADD', keys.tokens_of(identity), id)
  return 'stored'
end
