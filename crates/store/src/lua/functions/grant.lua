-- Flags: allow-oom
-- Gives an identity a role in the context, or takes it away, also while memory is full, because the list has a maximum
-- length. The caller then notes that rights have changed.
-- ARGV  list of the identities with the role · identity · 'grant' or 'revoke'
-- Gives 'changed', 'same' or 'full' (the list has its maximum length).
local MOST = 10000

return function()
  local list, identity, what = request.take(), request.take_number(), request.take()
  local closed = what == 'grant' and access.refuse_closed()
  if closed then return closed end
  local known = commands.try('HGET', keys.rights, list)
  local read, ids = pcall(cjson.decode, known or '[]')
  if not read or type(ids) ~= 'table' then ids = {} end
  local kept, had = {}, false
  for _, id in ipairs(ids) do
    -- An entry of another program that is no number of an identity is removed.
    local is_number = type(id) == 'number' and id >= 1 and id < 4294967296 and id % 1 == 0
    if id == identity then had = true elseif is_number then kept[#kept + 1] = id end
  end
  if had == (what == 'grant') then return 'same' end
  if what == 'grant' then
    if #kept >= MOST then return 'full' end
    kept[#kept + 1] = identity
  end
  table.sort(kept)
  for at, id in ipairs(kept) do kept[at] = values.digits(id) end
  access.change_context()
  commands.insist('HSET', keys.rights, list, '[' .. table.concat(kept, ',') .. ']')
  return 'changed'
end
