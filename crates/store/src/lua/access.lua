-- Identities, their tokens, and the changes that follow from them.
--
-- A key that a foreign program has replaced by one of another type is deleted, except the hash of an identity, which
-- other programs may write, too.
local try = commands.try
local access = {}

-- The maximum number of identities, of tokens that each has created, and of logins of each; and the number of numbers
-- taken by others that are skipped at once. Identities of other programs are at most half of all, and their numbers are
-- in the lower half, so some always remain.
access.MOST_IDENTITIES, access.MOST_TOKENS, access.MOST_LOGINS = 100000, 100, 50
local MOST_PASSED_OVER, LOOKED_AT = 1000, 1000
local MOST_FOREIGN, LAST_FOREIGN = 50000, 2147483647
-- The highest number.
local LAST = 4294967295

-- Notes that rights have changed, so that servers read them again.
function access.changed() commands.revise(keys.access, 'revision') end

-- True if a number already belongs to an identity, even one whose hash is gone: it is in the list, or has tokens or a
-- key.
local function stands(id)
  return try('ZSCORE', keys.identities, id) or redis.call('EXISTS', keys.tokens_of(id)) == 1
    or try('HEXISTS', keys.public_keys, 'of:' .. id) == 1
end

local function set_last(number) commands.insist('HSET', keys.access, 'last', values.digits(number)) end

-- The highest listed number, without those that other programs have taken.
local function highest_own()
  for from = 0, access.MOST_IDENTITIES, LOOKED_AT do
    local listed = try('ZREVRANGE', keys.identities, from, from + LOOKED_AT - 1) or {}
    if not listed[1] then break end
    local taken = try('ZMSCORE', keys.taken_numbers, unpack(listed)) or {}
    for at, id in ipairs(listed) do
      local number = tonumber(id)
      if number and number > 0 and number <= LAST and not taken[at] then return number end
    end
  end
  return 0
end

-- The last number that was given here. If it is lost, it is the highest listed one. Numbers above it that other
-- programs have taken do not count, so that they use up none of ours; they are remembered, so that nobody gets one of
-- them again.
local function last()
  local text = try('HGET', keys.access, 'last') or nil
  local number = tonumber(text)
  if not number or not (number >= 0 and number <= LAST) then number = highest_own() end
  number = math.floor(number)
  -- Servers read it, too.
  if values.digits(number) ~= text then set_last(number) end
  return number
end

local function is_taken(id) return try('ZSCORE', keys.taken_numbers, id) end

local function lists_no_more()
  return (try('ZCARD', keys.identities) or 0) >= MOST_FOREIGN or (try('ZCARD', keys.taken_numbers) or 0) >= MOST_FOREIGN
end

-- Counts the numbers after the last one that others have taken as given, so that they need not be remembered.
local function pass_over_taken()
  local number, passed = last(), 0
  while passed < MOST_PASSED_OVER and is_taken(values.digits(number + passed + 1)) do
    passed = passed + 1
    try('ZREM', keys.taken_numbers, values.digits(number + passed))
  end
  if passed > 0 then set_last(number + passed) end
end

-- Returns a number that no identity has had and that has no roles. `held` contains the numbers with roles among the
-- next ones after `from`. Otherwise returns nil and the reason: 'none' (no number is left), or 'later' (others have
-- taken so many that the next call has to go on, with the roles of the next numbers).
function access.next_identity(from, held)
  local number = last()
  for _ = 1, MOST_PASSED_OVER do
    if number >= LAST then return nil, 'none' end
    if number < from or number >= from + MOST_PASSED_OVER then break end
    number = number + 1
    local id = values.digits(number)
    set_last(number)
    if not held[id] and not access.is_identity(id) and not stands(id) and not is_taken(id) then return id end
    -- It counts as given from now on, because it could not be listed later.
    if not is_taken(id) and access.is_hash(id) and not lists_no_more() then commands.insist('ZADD', keys.identities, 'NX', id, id) end
    try('ZREM', keys.taken_numbers, id)
  end
  return nil, 'later'
end

-- Why an identity that another program has written is not listed, or nil. A number that was given once is not given
-- again: the rights of a deleted identity may remain, and nobody may get them by its number.
local function refuse_foreign(id)
  if tonumber(id) <= last() or is_taken(id) then return 'given' end
  if tonumber(id) > LAST_FOREIGN then return 'beyond' end
  if lists_no_more() then pass_over_taken() end
  return lists_no_more() and 'full' or nil
end

-- Lists an identity that is to log in, or to get a token or a role, because another program may have just written it.
-- Returns nil on success, otherwise the reason: 'none' (it has no hash), 'given' (an identity had its number before),
-- 'beyond' (the number is too high for identities of other programs) or 'full' (the list is full).
function access.admit(id)
  if not access.is_hash(id) then return 'none' end
  if not stands(id) then
    local why = refuse_foreign(id)
    if why then return why end
    commands.insist('ZADD', keys.taken_numbers, id, id)
  end
  commands.insist('ZADD', keys.identities, 'NX', id, id)
  return nil
end

-- Removes an identity from the list and returns whether it was listed. Its number is not given again.
function access.unlist(id)
  if not try('ZSCORE', keys.identities, id) then return false end
  if tonumber(id) > last() then commands.insist('ZADD', keys.taken_numbers, id, id) end
  return try('ZREM', keys.identities, id) == 1
end

-- The noted public key by which an identity logs in.
function access.noted_key(id) return try('HGET', keys.public_keys, 'of:' .. id) or nil end

-- Notes the public key by which an identity logs in from now on.
function access.note_key(id, key) commands.insist('HSET', keys.public_keys, key, id, 'of:' .. id, key) end

-- Forgets the noted key of an identity, and the entry of that key unless another identity has it by now.
function access.forget_key(id)
  local key = access.noted_key(id)
  if key and try('HGET', keys.public_keys, key) == id then try('HDEL', keys.public_keys, key) end
  try('HDEL', keys.public_keys, 'of:' .. id)
end

-- Removes the login key of an identity, because another program has removed it from the hash, and ends its logins.
function access.drop_key(id)
  local before = access.noted_key(id)
  -- The hash may have the key again by now.
  if not before or access.has_key(id, before) then return end
  access.forget_key(id)
  access.end_logins(id)
end

-- Lets an identity log in by the public key that another program has written into its hash, unless another identity has
-- that key. Each identity has one such key, and its logins end when the key changes.
function access.admit_key(id, key)
  if not access.has_key(id, key) then return false end
  access.drop_key(id)
  local owner = access.with_public_key(key)
  if owner and owner ~= id then return false end
  local is_noted = access.noted_key(id) == key
  if not owner and not is_noted then access.end_logins(id) end
  if not owner or not is_noted then access.note_key(id, key) end
  return true
end

function access.is_identity(id) return redis.call('EXISTS', keys.identity(id)) == 1 end

function access.is_hash(id) return redis.call('TYPE', keys.identity(id)).ok == 'hash' end

-- The identity that has a public key according to its own hash, because other programs may have removed the key there.
-- Nil: none.
function access.with_public_key(key)
  local id = try('HGET', keys.public_keys, key) or nil
  return id and access.has_key(id, key) and id or nil
end

-- True if the hash of an identity has this public key, in upper or lower case.
function access.has_key(id, key)
  local own = try('HGET', keys.identity(id), 'pubkey') or nil
  return own and string.gsub(string.lower(own), '^0x', '') == key
end

-- The identity that a token record belongs to.
function access.owner(record) return string.match(record, '"identity_id":(%d+)') end

-- The token by which a token was created, of the same identity. Nil: none.
function access.parent(record) return string.match(record, '"parent":"(%x+)"') end

-- Forgets a token, but not the tokens created by it, which have expired, too, or are deleted with their identity.
function access.forget_alone(token, record)
  redis.call('HDEL', keys.tokens, token)
  local owner = access.owner(record)
  if owner then try('SREM', keys.tokens_of(owner), token) end
end

-- Forgets a token and the tokens created by it. Returns whether it existed.
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

-- The tokens of an identity: the number of created ones, the number of logins, and the login that expires first.
-- Expired tokens are forgotten.
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

-- Forgets the logins of an identity whose public key has changed.
function access.end_logins(identity)
  for _, token in ipairs(try('SMEMBERS', keys.tokens_of(identity)) or {}) do
    local record = try('HGET', keys.tokens, token)
    if record and string.find(record, '"login":true', 1, true) then
      access.forget(token)
      access.changed()
    end
  end
end

-- Notes that a context has changed, so that servers read it again. An unlisted context becomes listed. A context in a
-- Redis of its own keeps its score, because only the settings know of it.
function access.context_changed(id)
  local revision, listed = commands.revise(keys.access, 'revision'), commands.try('ZSCORE', keys.contexts, id)
  if tonumber(listed or nil) ~= math.huge then commands.insist('ZADD', keys.contexts, revision, id) end
end

-- Creates the hash of the context of this call if it is missing, and notes that it changes.
function access.change_context()
  local now = access.seconds()
  if not commands.try('HGET', keys.rights, 'created_at') then
    commands.insist('HSET', keys.rights, 'id', keys.context, 'admins', '[]', 'readers', '[]', 'executors', '[]',
      'created_at', now, 'updated_at', now, 'callers', '[]', 'name', '', 'limits', '{}', 'status', 'active')
  end
  commands.insist('HSET', keys.rights, 'updated_at', now)
end

-- True if the context of this call is being deleted, or was. Only a string key says so.
function access.is_closed() return (try('STRLEN', keys.closed) or 0) > 0 end

-- An answer that the context is being deleted, so nothing new may be stored in it, or nil. `Error::Deleting` is read of it.
function access.refuse_closed() return access.is_closed() and redis.error_reply('CLOSED ' .. keys.context) or nil end

-- The current time as in the coordinator's specification, in seconds.
function access.seconds() return values.digits(math.floor(request.now / 1000)) end

return access
