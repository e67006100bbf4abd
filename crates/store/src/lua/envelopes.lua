-- Envelopes that came: what is known of them, so that each counts once.
local try, insist = commands.try, commands.insist
local envelopes = {}

-- How many messages are known at most that came, and how many of those that cannot come again are forgotten in a call.
local MOST_KNOWN, MOST_FORGOTTEN = 200000, 1000
-- How many of them are of one signer, also where those leave less room than they have; and the field with how many all have.
local MOST_OF_SIGNER, ALL = 25000, 'all'
-- How much of a key tells it from others: nobody finds another one with the same beginning.
local KEY = 32

-- How many messages of a signer are known; `ALL`: of all.
local function count_of(who) return tonumber(try('HGET', keys.known, who) or nil) or 0 end

-- Forgets messages that came and cannot come again.
function envelopes.forget()
  local over = insist('ZRANGEBYSCORE', keys.nonces, '-inf', request.now, 'LIMIT', 0, MOST_FORGOTTEN)
  if #over > 0 then redis.call('ZREM', keys.nonces, unpack(over)) end
  local left, counted = redis.call('ZCARD', keys.nonces), count_of(ALL)
  -- Where another program has changed what is known, counts that do not agree with it would keep a signer out, and are begun anew.
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

-- Whether no more messages of a signer may be known: it has its share, and those of all leave less room than it has, so that it does not
-- keep out others.
function envelopes.is_crowded(signer)
  local room, own = MOST_KNOWN - redis.call('ZCARD', keys.nonces), count_of(string.sub(signer, 1, KEY))
  return room <= 0 or own >= MOST_OF_SIGNER and own >= room
end

-- What a message that came is known by. A nonce is its signer's own: who guesses one cannot have the message of another pass for known.
function envelopes.known(signer, nonce) return string.sub(signer, 1, KEY) .. ':' .. nonce end

-- Has something that a signer sent known until then, ms.
function envelopes.know(signer, known, again)
  if redis.call('ZADD', keys.nonces, again, known) == 0 then return end
  for _, who in ipairs({ string.sub(signer, 1, KEY), ALL }) do commands.increase(keys.known, who, 1) end
end

-- What stands beside that, once the sender has stopped its jobs.
function envelopes.stop_of(known) return known .. ' stop' end

return envelopes
