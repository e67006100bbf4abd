-- Known envelopes that came, so that each counts once.
local try, insist = commands.try, commands.insist
local envelopes = {}

-- The maximum number of known messages, and the number of those that cannot come again that a call forgets.
local MOST_KNOWN, MOST_FORGOTTEN = 200000, 1000
-- The number of them that one signer may always have, even if others leave less room; and the field with the number of
-- all.
local MOST_OF_SIGNER, ALL = 25000, 'all'
-- The length of the part of a key that identifies it: nobody can find another key with the same beginning.
local KEY = 32

-- The number of known messages of a signer; `ALL`: of all.
local function count_of(who) return tonumber(try('HGET', keys.known, who) or nil) or 0 end

-- Forgets messages that came and cannot come again.
function envelopes.forget()
  local over = insist('ZRANGEBYSCORE', keys.nonces, '-inf', request.now, 'LIMIT', 0, MOST_FORGOTTEN)
  if #over > 0 then redis.call('ZREM', keys.nonces, unpack(over)) end
  local left, counted = redis.call('ZCARD', keys.nonces), count_of(ALL)
  -- Counts that do not agree with the known messages, because another program changed these, would lock a signer out,
  -- so they start anew.
  if left == 0 or counted - #over ~= left then
    redis.call('DEL', keys.known)
    if left > 0 then redis.call('HSET', keys.known, ALL, values.digits(left)) end
    return
  end
  local less = {}
  for _, known in ipairs(over) do
    local signer = string.match(known, '^[^:]*')
    less[signer] = (less[signer] or 0) + 1
  end
  for signer, many in pairs(less) do
    local now = count_of(signer) - many
    if now > 0 then redis.call('HSET', keys.known, signer, values.digits(now)) else redis.call('HDEL', keys.known, signer) end
  end
  if #over > 0 then redis.call('HSET', keys.known, ALL, values.digits(left)) end
end

-- True if a signer may have no more known messages: it has its share, and all together leave less room than it has, so
-- that it does not lock out others.
function envelopes.is_crowded(signer)
  local room, own = MOST_KNOWN - redis.call('ZCARD', keys.nonces), count_of(string.sub(signer, 1, KEY))
  return room <= 0 or own >= MOST_OF_SIGNER and own >= room
end

-- The name by which a message is known. A nonce belongs to its signer: guessing one does not make the message of
-- another signer known.
function envelopes.known(signer, nonce) return string.sub(signer, 1, KEY) .. ':' .. nonce end

-- Remembers something that a signer sent, until a time, ms.
function envelopes.know(signer, known, again)
  if redis.call('ZADD', keys.nonces, again, known) == 0 then return end
  for _, who in ipairs({ string.sub(signer, 1, KEY), ALL }) do commands.increase(keys.known, who, 1) end
end

-- The name that is known in addition once the sender has stopped the jobs of the message.
function envelopes.stop_of(known) return known .. ' stop' end

return envelopes
