-- Redis commands on keys that foreign programs may have spoilt.
local commands = {}

-- The maximum number of spoilt keys (of another type, left out or deleted by calls) that are kept of a context; the
-- maximum number of such contexts; and the maximum length of such a key, bytes.
local MOST_SPOILT, MOST_CONTEXTS, LONGEST_KEY = 200, 32, 512
-- The spoilt keys by context, and the contexts in the order in which they first had one. They outlast the call, until a
-- server takes them (take_spoilt.lua) to name them in its log. The keys of a context that nobody serves make room for
-- those of others.
local spoilt, met, context = {}, {}, ''

-- Sets the context of the keys of this call.
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

-- The spoilt keys that calls have met in the context since the last request, each followed by '1' if it was deleted, or
-- ''.
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

-- Texts of errors with the code ERR that Redis 7.0 returns for other reasons than the type of a key.
local NOT_OF_THE_KEY = { 'non local key', 'cluster', 'executing the script' }

-- Runs a command on a key that foreign programs may have spoilt. Returns nil instead of an error that is caused by the
-- key itself. Any other error (a hash slot that moves, a missing right) ends the call, because a key that cannot be
-- read now may still exist.
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
  return nil -- Nil instead of no value, because `tonumber` needs an argument.
end

-- The same for a key that foreign programs or the operator named. A missing right to it is ignored, too.
function commands.try_named(...)
  local reply = redis.pcall(...)
  if type(reply) ~= 'table' or not reply.err then return reply end
  if string.sub(reply.err, 1, 9) == 'WRONGTYPE' then note_spoilt((select(2, ...))) end
  return nil
end

-- Deletes a key of ours that a foreign program has replaced by one of another type.
function commands.give_way(key)
  note_spoilt(key, true)
  redis.call('DEL', key)
end

-- Writes to a key of ours. A key of another type, which a foreign program made, is deleted first.
function commands.insist(command, key, ...)
  local reply = redis.pcall(command, key, ...)
  if type(reply) ~= 'table' or not reply.err then return reply end
  if string.sub(reply.err, 1, 9) ~= 'WRONGTYPE' then error(reply) end
  commands.give_way(key)
  return redis.call(command, key, ...)
end

-- Adds to a number in a hash. A value that is no number counts as 0. A key of another type stays as it is, unless it
-- `gives_way`; the result is returned in both cases.
function commands.increase(key, field, by, gives_way)
  local value = commands.try('HINCRBY', key, field, by)
  if value then return value end
  local write = gives_way and commands.insist or commands.try
  write('HSET', key, field, by)
  return by
end

-- Raises a revision, a number in a hash by which others see that something has changed. It grows by a number that is
-- nearly random: after a failover that lost a change, the next change would otherwise have the same revision, and a
-- reader that has seen the lost one would not read again.
function commands.revise(key, field)
  local _, micros = unpack(redis.call('TIME'))
  return commands.increase(key, field, 1 + tonumber(micros), true)
end

-- The distance from either end of a list within which an element that is to be removed is searched, so that the time of
-- a command does not depend on the length of the list.
commands.SOUGHT = 1000
-- The maximum number of times that an element is removed from a longer list.
local MOST_REMOVED = 16

-- The end of a list that an element is near: the head (1) or the tail (-1). The end `rank` is searched first. Nil:
-- neither.
function commands.near(list, element, rank)
  for _, from in ipairs({ rank, -rank }) do
    if commands.try('LPOS', list, element, 'RANK', from, 'MAXLEN', commands.SOUGHT) then return from end
  end
  return nil
end

-- Removes an element from a list, unless it is far from both ends. The end `rank` is searched first. Returns whether it
-- was removed.
function commands.remove(list, element, rank)
  local from = commands.near(list, element, rank)
  return from ~= nil and commands.try('LREM', list, from, element) == 1
end

-- True if a list is so long that an element that was not found may still be in its middle.
function commands.is_long(list) return (commands.try('LLEN', list) or 0) > 2 * commands.SOUGHT end

-- Removes all occurrences of an element from a list; from a long list only those near its ends.
function commands.remove_all(list, element)
  if not commands.is_long(list) then return commands.try('LREM', list, 0, element) end
  for _ = 1, MOST_REMOVED do
    if not commands.remove(list, element, 1) then return end
  end
end

return commands
