-- Identities, the tokens that stand for them, and what changes with them.
--
-- What a foreign program made of one of these keys gives way, but for the hash of an identity, which others may write, too.
local try = commands.try
local access = {}

-- The most identities, the most tokens of each, and how many numbers that others have taken are passed over at once.
access.MOST_IDENTITIES, access.MOST_TOKENS = 100000, 100
local MOST_PASSED_OVER = 1000
-- The last number.
local LAST = 4294967295

-- Notes that something has changed of what callers may do, so that servers look again.
function access.changed() commands.increase(keys.access, 'revision', 1) end

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

-- The identity that has a public key. Nil: none has.
function access.with_public_key(key) return try('HGET', keys.public_keys, key) or nil end

-- Whose token a record is of.
function access.owner(record) return string.match(record, '"identity_id":(%d+)') end

-- Forgets a token. Gives whether there was one.
function access.forget(token)
  local record = try('HGET', keys.tokens, token)
  if not record then return false end
  redis.call('HDEL', keys.tokens, token)
  local owner = access.owner(record)
  if owner then try('SREM', keys.tokens_of(owner), token) end
  return true
end

-- A time as the coordinator's specification has it, in seconds.
function access.seconds() return values.digits(math.floor(request.now / 1000)) end

return access
