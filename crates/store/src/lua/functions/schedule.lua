-- Flags:
-- Stores a schedule.
-- ARGV  id · first occurrence, ms · maximum number of schedules · specification (JSON) · time of its creation
--       · digest of caller and idempotency key or '' · digest of the request · 'look' (memory may be short) or '-'
-- Gives {'created'} · {'exists'} (id taken) · {'full'}; or for the schedule of the idempotency key: {'same', id, next
-- occurrence, ms} · {'reused', id} (the request was another one).
local insist = commands.insist

return function()
  local id, first, most, spec, created_at = request.take(), request.take(), request.take_number(), request.take(), request.take()
  local key_digest, digest, look = request.take_many(3)
  local closed = access.refuse_closed()
  if closed then return closed end
  local found = key_digest ~= '' and keyed.schedule(key_digest, digest)
  if found then return found end
  local refused = request.refuse_nearly_full(look)
  if refused then return refused end
  local key = keys.schedule(id)
  if redis.call('EXISTS', key) == 1 then return { 'exists' } end
  if redis.call('ZCARD', keys.schedules) >= most then return { 'full' } end
  redis.call('HSET', key, 'spec', spec, 'created_at', created_at)
  redis.call('ZADD', keys.schedules, first, id)
  news.due('occurrences', tonumber(first))
  if key_digest ~= '' then
    local of_key = keys.idempotency(key_digest)
    redis.call('HSET', key, 'keyed', key_digest)
    insist('HSET', of_key, 'schedule', id, 'digest', digest)
    redis.call('EXPIRE', of_key, jobs.IDEMPOTENCY_SECONDS)
  end
  return { 'created' }
end
