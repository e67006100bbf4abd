-- Flags:
-- Creates staged jobs (create.lua) together, all or none. This call only decides it, with a few commands for any number
-- of jobs. After it they come to their places some at a time (links.lua), by link_jobs.lua, or by the releaser if
-- nobody calls that.
-- ARGV  group · number of its places · 'look' (memory may be short) or '-' · maximum number of jobs created per second, or 0
--       · the revision of relations that was followed, or '' · number of staged jobs
--       · number of script types, each: type · number of its jobs
--       · number of keys that no job may have yet, of jobs and of idempotency keys, keys …
--       · number of texts of relations, text …
-- Gives {'stored'} · {'slow', ms} · {'changed'} (relations have changed since they were followed) ·
-- {'gone'} (staged jobs are missing, or others have an id or idempotency key by now: they may be staged anew) ·
-- {'later'} (too many groups have remaining work).
local try, insist = commands.try, commands.insist

-- The number of keys or texts that one command is given.
local AT_ONCE = 1000

local function take_types()
  local many_of = {}
  for _ = 1, request.take_number() do
    local script_type = request.take()
    many_of[script_type] = request.take_number()
  end
  return many_of
end

-- Takes some arguments in place: the positions of the first and the last.
local function take_some()
  local many = request.take_number()
  local first = request.at + 1
  request.at = request.at + many
  return { first = first, last = request.at }
end

-- Calls a function with some arguments, in as many parts as necessary.
local function each_part(some, call)
  for from = some.first, some.last, AT_ONCE do call(unpack(request.argv, from, math.min(from + AT_ONCE - 1, some.last))) end
end

-- True if all staged jobs of a group exist.
local function is_whole(group, places, many)
  local staged = {}
  for place = 1, math.min(tonumber(places), links.MOST) do staged[place] = keys.staged(group, place) end
  return try('HGET', keys.group(group), 'many') == many and redis.call('EXISTS', keys.lines(group)) == 1
    and redis.call('EXISTS', unpack(staged)) == tonumber(many)
end

-- True if other jobs have one of these keys.
local function are_taken(others)
  local taken = false
  each_part(others, function(...) taken = taken or redis.call('EXISTS', ...) > 0 or links.has_any(...) end)
  return taken
end

return function()
  local group, places, look, per_second = request.take(), request.take(), request.take(), request.take_number()
  local revision, many, many_of, others, texts = request.take(), request.take(), take_types(), take_some(), take_some()
  local refused = request.refuse_nearly_full(look) or access.refuse_closed()
  if refused then return refused end
  if not links.keep(group, places) then return { 'gone' } end
  if links.is_full() then return { 'later' } end
  if not is_whole(group, places, many) or are_taken(others) then return { 'gone' } end
  if revision ~= '' and relations.revision() ~= revision then return { 'changed' } end
  local slow = limit.too_fast(per_second, tonumber(many))
  if slow then return slow end

  limit.note_created(per_second, tonumber(many))
  try('ZREM', keys.staging, links.member(group, places))
  try('ZREM', keys.holding, links.member(group, places))
  redis.call('UNLINK', keys.held(group))
  each_part(texts, function(...) insist('RPUSH', keys.lines(group), ...) end)
  insist('RPUSH', keys.linking, group)
  if revision ~= '' then relations.note_change() end
  for script_type, number in pairs(many_of) do news.count(script_type, 'created', number) end
  news.send_all()
  return { 'stored' }
end
