-- Flags:
-- Creates a runner, or changes one.
-- ARGV  its number, 0 for a new one · then for each field that is given: its name · its value
-- Gives {'stored', number}; or nothing was done: {'missing'}, {'nowhere'} (it would be elsewhere, but has no address), {'taken', number of
-- the runner whose topic that is}, {'full'}, {'none'} (there is no number left) or {'later'} (the next call goes on looking for one).
local MOST, LAST = 10000, 4294967295
local FIELDS = { 'pubkey', 'address', 'topic', 'local', 'type', 'name', 'target_context' }
local DEFAULTS = { pubkey = '', address = '', ['local'] = 'true', type = '', name = '', target_context = '0' }

-- The runner that has this topic, other than the one with this number ('0': a new one), or nil. The topic `runner{n}`
-- belongs to runner n, whether or not that exists.
local function owner_of(topic, id)
  local own = string.match(topic, '^runner(%d+)$')
  if own and tonumber(own) <= LAST then return own ~= id and own or nil end
  local other = commands.try('ZSCORE', keys.topics, topic)
  if not other or other == id or commands.try('HGET', keys.runner(other), 'topic') ~= topic then return nil end
  return other
end

return function()
  local id, given = request.take(), {}
  while request.has_more() do given[request.take()] = request.take() end
  local is_new, closed = id == '0', access.refuse_closed()
  if closed then return closed end
  coordinator.recover_runners()
  if not is_new and (commands.try('HLEN', keys.runner(id)) or 0) == 0 then return { 'missing' } end
  local function value(field)
    local kept = not is_new and commands.try('HGET', keys.runner(id), field)
    return given[field] or kept or DEFAULTS[field]
  end
  if value('local') == 'false' and value('address') == '' then return { 'nowhere' } end
  local taken = given.topic and owner_of(given.topic, id)
  -- A new one may be about to get that number.
  if taken and not (is_new and given.topic == 'runner' .. taken) then return { 'taken', taken } end
  -- A runner of another program is listed with its first change.
  local adds_one = is_new or not commands.try('ZSCORE', keys.runners, id)
  if adds_one and (commands.try('ZCARD', keys.runners) or 0) >= MOST then return { 'full' } end
  if is_new then
    local number, why = coordinator.next_runner()
    if not number then return { why } end
    id = number
    if taken and taken ~= id then return { 'taken', taken } end
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
  if given.topic then
    commands.try('ZREMRANGEBYSCORE', keys.topics, id, id)
    if given.topic ~= 'runner' .. id then commands.insist('ZADD', keys.topics, id, given.topic) end
  end
  coordinator.keep_runner(id)
  coordinator.changed('runners')
  return { 'stored', id }
end
