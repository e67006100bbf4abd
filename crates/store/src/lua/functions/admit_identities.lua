-- Flags: allow-oom
-- Lists identities that other programs have written, and lets them log in by the public keys in their hashes, and no
-- longer by keys that they have lost.
-- ARGV  for each: its number · its public key, '-' if it has none
-- Gives {number and reason of each that is refused: 'given' (an identity had the number before), 'beyond' (the number
-- is too high for identities of others), 'full' or 'owned' (it is listed, but its public key is another one's or has
-- changed) …}.
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
