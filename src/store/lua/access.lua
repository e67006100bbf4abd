-- Identities, the tokens that stand for them, and what changes with them.
--
-- What a foreign program made of one of these keys gives way, but for the hash of an identity, which others may write, too.
local try = commands.try
local access = {}

-- The most identities, the most tokens that each has made, the most logins of each, and how many numbers that others have taken are passed
-- over at once.
access.MOST_IDENTITIES, access.MOST_TOKENS, access.MOST_LOGINS = 100000, 100, 50
local MOST_PASSED_OVER = 1000
-- The last number.
local LAST = 4294967295

-- Notes that something has changed of what callers may do, so that servers look again.
function access.changed() commands.revise(keys.access, 'revision') end

-- A number that no identity has had. Nil: there is none left, or others have made identities with so many numbers that looking for one has
-- to go on with the next call.
function access.next_identity()
  local highest = try('ZREVRANGE', keys.identities, 0, 0)
  if highest and highest[1] then access.keep_number(highest[1]) end
  for _ = 1, MOST_PASSED_OVER do
    if (tonumber(try('HGET', keys.access, 'last') or nil) or 0) >= LAST then return nil end
    local id = values.digits(commands.increase(keys.access, 'last', 1))
    if not access.is_identity(id) then return id end
  end
  return nil
end

-- Has a number not be given again, whoever gave it.
function access.keep_number(id)
  local number = tonumber(id)
  if number and number <= LAST and number > (tonumber(try('HGET', keys.access, 'last') or nil) or 0) then
    commands.insist('HSET', keys.access, 'last', id)
  end
end

function access.is_identity(id) return redis.call('EXISTS', keys.identity(id)) == 1 end

-- The identity that has a public key, as its own hash says it: other programs may have taken the key from there. Nil: none has.
function access.with_public_key(key)
  local id = try('HGET', keys.public_keys, key) or nil
  return id and try('HGET', keys.identity(id), 'pubkey') == key and id or nil
end

-- Whose token a record is of.
function access.owner(record) return string.match(record, '"identity_id":(%d+)') end

-- The token by which one was made, of the same identity. Nil: none.
function access.parent(record) return string.match(record, '"parent":"(%x+)"') end

-- Forgets a token, though not those that were made by it: they are over, too, or go with their identity.
function access.forget_alone(token, record)
  redis.call('HDEL', keys.tokens, token)
  local owner = access.owner(record)
  if owner then try('SREM', keys.tokens_of(owner), token) end
end

-- Forgets a token, and those that were made by it. Gives whether there was one.
function access.forget(token)
  local record = try('HGET', keys.tokens, token)
  if not record then return false end
  access.forget_alone(token, record)
  local owner = access.owner(record)
  for _, other in ipairs(owner and try('SMEMBERS', keys.tokens_of(owner)) or {}) do
    local made = try('HGET', keys.tokens, other)
    if made and access.parent(made) == token then access.forget(other) end
  end
  return true
end

-- What an identity has of tokens: how many were made, how many are of logins, and which of these ends first. What is over is forgotten.
function access.tokens_of(identity)
  local made, logins, first, first_ends = 0, 0, nil, nil
  for _, token in ipairs(try('SMEMBERS', keys.tokens_of(identity)) or {}) do
    local record = try('HGET', keys.tokens, token)
    local ends = record and tonumber(string.match(record, '"expires_ms":(%d+)')) or math.huge
    if record and ends <= request.now then
      access.forget_alone(token, record)
    elseif record and string.find(record, '"login":true', 1, true) then
      logins = logins + 1
      if not first or ends < first_ends then first, first_ends = token, ends end
    else
      made = made + 1
    end
  end
  return made, logins, first
end

-- Forgets the logins of an identity, whose public key has changed.
function access.end_logins(identity)
  for _, token in ipairs(try('SMEMBERS', keys.tokens_of(identity)) or {}) do
    local record = try('HGET', keys.tokens, token)
    if record and string.find(record, '"login":true', 1, true) then
      access.forget(token)
      access.changed()
    end
  end
end

-- Notes that the context of a number has changed, so that servers read it again. One that is not listed is listed. One that is in a Redis
-- of its own stays listed so: only settings know of that.
function access.context_changed(id)
  local revision, listed = commands.revise(keys.access, 'revision'), commands.try('ZSCORE', keys.contexts, id)
  if tonumber(listed or nil) ~= math.huge then commands.insist('ZADD', keys.contexts, revision, id) end
end

-- Sees to it that the context of this call has a hash, and notes that it changes.
function access.change_context()
  local now = access.seconds()
  if not commands.try('HGET', keys.rights, 'created_at') then
    commands.insist('HSET', keys.rights, 'id', keys.context, 'admins', '[]', 'readers', '[]', 'executors', '[]',
      'created_at', now, 'updated_at', now, 'callers', '[]', 'name', '', 'limits', '{}', 'status', 'active')
  end
  commands.insist('HSET', keys.rights, 'updated_at', now)
end

-- Whether the context of this call is being deleted, or was. Only a text says so.
function access.is_closed() return (try('STRLEN', keys.closed) or 0) > 0 end

-- A time as the coordinator's specification has it, in seconds.
function access.seconds() return values.digits(math.floor(request.now / 1000)) end

return access
