-- Flags: allow-oom
-- Deletes an identity with its tokens. Its rights stay in lists and have no effect, because no number is given twice.
-- ARGV  its number · 'gone': only if another program has deleted its hash
-- Gives whether it was deleted.
return function()
  local id = request.take()
  local key = keys.identity(id)
  if request.take() == 'gone' and access.is_identity(id) then return 0 end
  local public_key = commands.try('HGET', key, 'pubkey')
  if public_key and access.with_public_key(public_key) == id then commands.try('HDEL', keys.public_keys, public_key) end
  access.forget_key(id)
  for _, token in ipairs(commands.try('SMEMBERS', keys.tokens_of(id)) or {}) do
    local record = commands.try('HGET', keys.tokens, token)
    if record then access.forget_alone(token, record) end
  end
  redis.call('DEL', keys.tokens_of(id))
  local was_listed = access.unlist(id)
  local deleted = redis.call('DEL', key) == 1 or was_listed
  if deleted then access.changed() end
  return deleted and 1 or 0
end
