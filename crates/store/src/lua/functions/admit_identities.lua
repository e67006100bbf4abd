-- Flags:
-- Lists identities that other programs have written, and has them log in by the public keys that they have there, and no longer
-- by those that they have no more.
-- ARGV  for each: its number · its public key, '-' where it has none
-- Gives {number of each that is refused and why: 'given' (identities had such numbers before), 'beyond' (others have none so high),
-- 'full' or 'owned' (it is listed, but its public key is another one's or has changed) …}.
return function()
  local refused = {}
  while request.has_more() do
    local id, key = request.take_many(2)
    local why = access.admit(id)
    if why and why ~= 'none' then
      refused[#refused + 1], refused[#refused + 2] = id, why
    elseif not why then
      if key == '-' then
        access.drop_key(id)
      elseif not access.admit_key(id, key) then
        refused[#refused + 1], refused[#refused + 2] = id, 'owned'
      end
    end
  end
  return refused
end
