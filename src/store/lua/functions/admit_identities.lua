-- Flags:
-- Lists identities that other programs have written, and has them log in by the public keys that they have there, and no longer
-- by those that they have no more.
-- ARGV  for each: its number · its public key, '-' where it has none
-- Gives {how many were listed, number of each that is not and why: 'given' (identities had such numbers before) or 'full'}.
local try, insist = commands.try, commands.insist

return function()
  local listed, refused = 0, {}
  while request.has_more() do
    local id, key = request.take_many(2)
    local why = not try('ZSCORE', keys.identities, id) and access.refuse_foreign(id)
    if why then
      refused[#refused + 1], refused[#refused + 2] = id, why
    elseif redis.call('TYPE', keys.identity(id)).ok == 'hash' then
      listed = listed + insist('ZADD', keys.identities, 'NX', id, id)
      if key ~= '-' then access.admit_key(id, key) else access.drop_key(id) end
    end
  end
  return { listed, unpack(refused) }
end
