-- Flags:
-- Stores a schedule.
-- ARGV  id · first occurrence, ms · maximum number of schedules · specification (JSON) · time of its creation
--       · digest of caller and idempotency key or '' · digest of the request · 'look' (memory may be short) or '-'
-- Gives {'created'} · {'exists'} (id taken) · {'full'}; or for the schedule of the idempotency key: {'same', id, next
-- occurrence, ms} · {'reused', id} (the request was another one).
local try, insist = commands.try, commands.insist

-- The schedule of an idempotency key, as an answer, or nil. A deleted schedule does not count.
local function find_known(keyed, digest)
  local id, known = unpack(try('HMGET', keys.idempotency(keyed), 'schedule', 'digest') or {}, 1, 2)
  local occurrence = id and try('ZSCORE', keys.schedules, id)
  -- Another schedule may have that id by now.
  if not occurrence or try('HGET', keys.schedule(id), 'keyed') ~= keyed then return nil end
  if known ~= digest then return { 'reused', id } end
  return { 'same', id, occurrence }
end

return function()
  local id, first, most, spec, created_at = request.take(), request.take(), request.take_number(), request.take(), request.take()
  local keyed, digest, look = request.take_many(3)
  local found = keyed ~= '' and find_known(keyed, digest)
  if found then return found end
  local refused = request.refuse_nearly_full(look) or access.refuse_closed()
  if refused then return refused end
  local key = keys.schedule(id)
  if redis.call('EXISTS', key) == 1 then return { 'exists' } end
  if redis.call('ZCARD', keys.schedules) >= most then return { 'full' } end
  redis.call('HSET', key, 'spec', spec, 'created_at', created_at)
  redis.call('ZADD', keys.schedules, first, id)
  if keyed ~= '' then
    local of_key = keys.idempotency(keyed)
    redis.call('HSET', key, 'keyed', keyed)
    insist('HSET', of_key, 'schedule', id, 'digest', digest)
    redis.call('EXPIRE', of_key, jobs.IDEMPOTENCY_SECONDS)
  end
  return { 'created' }
end
