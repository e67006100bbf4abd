-- Redis commands on keys that foreign programs may have spoilt.
local commands = {}

-- How many keys of another type are kept of a context that calls have met, and left out or deleted; of how many contexts; and how long a
-- key may be, bytes.
local MOST_SPOILT, MOST_CONTEXTS, LONGEST_KEY = 200, 32, 512
-- Those keys by their contexts, and these in the order in which the first of each was met. They outlast the call, until a server takes them
-- (take_spoilt.lua) to name them in its log. Where nobody serves a context, its keys make way for those of others.
local spoilt, met, context = {}, {}, ''

-- Says which context the keys of the call are of.
function commands.of_context(now) context = now end

local function spoilt_here()
  if not spoilt[context] then
    if #met == MOST_CONTEXTS then spoilt[table.remove(met, 1)] = nil end
    met[#met + 1], spoilt[context] = context, { many = 0, keys = {} }
  end
  return spoilt[context]
end

local function note_spoilt(key, gave_way)
  if type(key) ~= 'string' or #key > LONGEST_KEY then return end
  local here = spoilt_here()
  if not here.keys[key] then
    if here.many == MOST_SPOILT then return end
    here.keys[key], here.many = '', here.many + 1
  end
  if gave_way then here.keys[key] = '1' end
end

-- The keys of the context that calls have met since this was asked for last, each followed by '1' if it was deleted, or ''.
function commands.take_spoilt()
  local taken = {}
  for at, one in ipairs(met) do
    if one == context then
      table.remove(met, at)
      break
    end
  end
  for key, gave_way in pairs(spoilt[context] and spoilt[context].keys or {}) do
    taken[#taken + 1], taken[#taken + 2] = key, gave_way
  end
  spoilt[context] = nil
  return taken
end

-- Texts of errors with the code ERR, which Redis 7.0 gives for other reasons than the type of a key.
local NOT_OF_THE_KEY = { 'non local key', 'cluster', 'executing the script' }

-- Runs a command on a key that foreign programs may have spoilt. Nil instead of an error that comes from what the key is. Any other error,
-- such as that of a hash slot that moves, or of a right that is missing, ends the call: what cannot be read now may be there all the same.
function commands.try(...)
  local reply = redis.pcall(...)
  if type(reply) ~= 'table' or not reply.err then return reply end
  local code, text = string.match(reply.err, '^(%u*) ?(.*)$')
  local of_key = code == 'WRONGTYPE' or code == 'ERR'
  for _, other in ipairs(of_key and NOT_OF_THE_KEY or {}) do
    if string.find(text, other, 1, true) then of_key = false end
  end
  if not of_key then error(reply) end
  if code == 'WRONGTYPE' then note_spoilt((select(2, ...))) end
  return nil -- And not no value at all, which `tonumber` does not take.
end

-- The same for a key that foreign programs named, or the operator: this user of Redis may have no right to it, which is no reason to stop.
function commands.try_named(...)
  local reply = redis.pcall(...)
  if type(reply) ~= 'table' or not reply.err then return reply end
  if string.sub(reply.err, 1, 9) == 'WRONGTYPE' then note_spoilt((select(2, ...))) end
  return nil
end

-- Deletes a key of ours that a foreign program made of another type.
function commands.give_way(key)
  note_spoilt(key, true)
  redis.call('DEL', key)
end

-- Writes to a key of ours with a command. A key of another type, which a foreign program made, is deleted first.
function commands.insist(command, key, ...)
  local reply = redis.pcall(command, key, ...)
  if type(reply) ~= 'table' or not reply.err then return reply end
  if string.sub(reply.err, 1, 9) ~= 'WRONGTYPE' then error(reply) end
  commands.give_way(key)
  return redis.call(command, key, ...)
end

-- Adds to a number in a hash. What a foreign program made of it, so that it is none, counts as 0. A key of another type stays as it is, and
-- what it would be is given all the same, unless it `gives_way`.
function commands.increase(key, field, by, gives_way)
  local value = commands.try('HINCRBY', key, field, by)
  if value then return value end
  local write = gives_way and commands.insist or commands.try
  write('HSET', key, field, by)
  return by
end

-- Raises a revision, a number in a hash by which others see that something has changed. It grows by chance, about: after a failover that
-- has lost a change the next one would have its revision else, and whoever has seen the lost one would not look again.
function commands.revise(key, field)
  local _, micros = unpack(redis.call('TIME'))
  return commands.increase(key, field, 1 + tonumber(micros), true)
end

-- So far from either end of a list an element is looked for that is to be taken out: the time of Redis must not depend on how long it is.
commands.SOUGHT = 1000
-- So often, at most, one is taken out of a list that is longer than that.
local MOST_REMOVED = 16

-- The end of a list that an element lies near: the head (1) or the tail (-1), which is looked at first if it is `rank`. Nil: neither.
function commands.near(list, element, rank)
  for _, from in ipairs({ rank, -rank }) do
    if commands.try('LPOS', list, element, 'RANK', from, 'MAXLEN', commands.SOUGHT) then return from end
  end
  return nil
end

-- Takes an element out of a list, unless it lies far from both ends. It is looked for from the end `rank` first. True: it did.
function commands.remove(list, element, rank)
  local from = commands.near(list, element, rank)
  return from ~= nil and commands.try('LREM', list, from, element) == 1
end

-- Whether a list is so long that what is not found in it may lie far from both ends.
function commands.is_long(list) return (commands.try('LLEN', list) or 0) > 2 * commands.SOUGHT end

-- Takes an element out of a list as often as it is there; out of a long one, near its ends.
function commands.remove_all(list, element)
  if not commands.is_long(list) then return commands.try('LREM', list, 0, element) end
  for _ = 1, MOST_REMOVED do
    if not commands.remove(list, element, 1) then return end
  end
end

return commands
