-- Flags: allow-oom
-- Creates an identity, or changes one.
-- ARGV  its number, 0 for a new one · public key, '-' to leave it · addresses, JSON, '-' to leave them · for a new one: the number
--       after which it is known who has roles · the numbers there that have some …
-- Gives {'stored', number}, {'missing'} (or it is one of another program that is refused), {'taken', number of the
-- identity that has the key}, {'full'} (there are too many), {'none'} (there is no number left) or {'later'} (the next
-- call goes on looking for one).
return function()
  local id, public_key, addresses = request.take_many(3)
  local is_new = id == '0'
  if not is_new and access.admit(id) then return { 'missing' } end
  local owner = public_key ~= '-' and access.with_public_key(public_key)
  if owner and owner ~= id and access.is_identity(owner) then return { 'taken', owner } end
  if is_new then
    local nearly_full = request.refuse_nearly_full('look')
    if nearly_full then return nearly_full end
    if (commands.try('ZCARD', keys.identities) or 0) >= access.MOST_IDENTITIES then return { 'full' } end
    local from, held = request.take_number(), {}
    while request.has_more() do held[request.take()] = true end
    local number, why = access.next_identity(from, held)
    if not number then return { why } end
    id = number
  end
  local key, now = keys.identity(id), access.seconds()
  if public_key ~= '-' then
    local before = commands.try('HGET', key, 'pubkey')
    if before and before ~= public_key then
      commands.try('HDEL', keys.public_keys, before)
      access.end_logins(id)
    end
    local noted = access.noted_key(id)
    if noted and noted ~= public_key then
      access.forget_key(id)
      access.end_logins(id)
    end
    access.note_key(id, public_key)
    commands.insist('HSET', key, 'pubkey', public_key)
  elseif is_new then
    commands.insist('HSET', key, 'pubkey', '')
  end
  if addresses ~= '-' then commands.insist('HSET', key, 'address', addresses) end
  if is_new then commands.insist('HSET', key, 'id', id, 'created_at', now) end
  commands.insist('HSET', key, 'updated_at', now)
  commands.insist('ZADD', keys.identities, id, id)
  return { 'stored', id }
end
