-- Calls of actors in any language: the functions of `public`, by names that stay. Everything is created with the first call, as in
-- registration.lua.
-- KEYS  1 the hash of a job, the first of the queues, or a presence: the part before `hero:` in it is the key prefix
-- ARGV  1 the owner: a name of this start of the actor's process   2 number of the context · then those of the function
local library

-- True if a key prefix belongs to a context. Where contexts are databases, keys do not say it.
local function is_of(prefix, context)
  if not prefix or not string.find(context or '', '^%d+$') or string.find(context, '^0%d') then return false end
  return prefix == '' or prefix == '{ctx:' .. context .. '}:'
end

local function carry_out(name, given, argv)
  library = library or made_library()
  local prefix = given[1] and string.match(given[1], '^(.-)hero:')
  if not argv[1] or argv[1] == '' or string.find(argv[1], '%s') or not is_of(prefix, argv[2]) then
    return redis.error_reply('ERR the first key is one of hero, then come an owner without spaces and the number of its context')
  end
  local refusal = library.calling.enter(prefix, argv[2], argv[1], given, argv)
  return refusal or library.functions[name](given)
end
