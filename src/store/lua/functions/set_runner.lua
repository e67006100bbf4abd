-- Flags:
-- Makes a runner, or changes one.
-- ARGV  its number, 0 for a new one · then for each field that is given: its name · its value
-- Gives {'stored', number}, {'missing'}, {'nowhere'} (it would be elsewhere, but has no address) or {'full'}.
local MOST = 10000
local FIELDS = { 'pubkey', 'address', 'topic', 'local', 'type', 'name', 'target_context' }
local DEFAULTS = { pubkey = '', address = '', ['local'] = 'true', type = '', name = '', target_context = '0' }

return function()
  local id, given = request.take(), {}
  while request.has_more() do given[request.take()] = request.take() end
  local is_new = id == '0'
  if not is_new and (commands.try('HLEN', keys.runner(id)) or 0) == 0 then return { 'missing' } end
  local function value(field)
    local kept = not is_new and commands.try('HGET', keys.runner(id), field)
    return given[field] or kept or DEFAULTS[field]
  end
  if value('local') == 'false' and value('address') == '' then return { 'nowhere' } end
  if is_new then
    if (commands.try('ZCARD', keys.runners) or 0) >= MOST then return { 'full' } end
    local highest = commands.try('ZREVRANGE', keys.runners, 0, 0)
    coordinator.keep_number('runner', highest and highest[1])
    id = coordinator.next_number('runner', keys.runner)
    if not id then return { 'full' } end
  end
  local key, now = keys.runner(id), coordinator.seconds()
  if is_new then redis.call('HSET', key, 'id', id) end
  for at, field in ipairs(FIELDS) do
    -- The fields of the specification come first, in its order.
    if field == 'type' and is_new then redis.call('HSET', key, 'created_at', now, 'updated_at', now) end
    local written = given[field] or is_new and (DEFAULTS[field] or 'runner' .. id)
    if written then redis.call('HSET', key, FIELDS[at], written) end
  end
  redis.call('HSET', key, 'updated_at', now)
  commands.insist('ZADD', keys.runners, id, id)
  coordinator.keep_number('runner', id)
  coordinator.changed('runners')
  return { 'stored', id }
end
