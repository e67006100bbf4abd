-- Flags: allow-oom
-- Claims a registration or keeps it.
-- ARGV  presence key · set of presence keys · incarnation · presence (JSON) · its lifetime, s · a dead incarnation, or ''
-- Gives {'claimed'} or {'taken', presence of the holder}.
return function()
  local key, set, incarnation, presence, seconds, dead =
    request.take(), request.take(), request.take(), request.take(), request.take(), request.take()
  if redis.call('EXISTS', key) == 1 then
    local text = commands.try('GET', key) or ''
    local known, holder = pcall(cjson.decode, text)
    local held_by = known and type(holder) == 'table' and holder.incarnation
    if not held_by or held_by == '' or held_by ~= incarnation and held_by ~= dead then return { 'taken', text } end
  end
  redis.call('SET', key, presence, 'EX', seconds)
  commands.insist('SADD', set, key)
  return { 'claimed' }
end
