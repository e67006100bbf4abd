-- Flags: allow-oom
-- Releases a registration, if this incarnation holds it.
-- ARGV  presence key · set of presence keys · incarnation
-- Gives 'OK'.
return function()
  local key, set, incarnation = request.take(), request.take(), request.take()
  local known, holder = pcall(cjson.decode, commands.try('GET', key) or '')
  if known and type(holder) == 'table' and holder.incarnation == incarnation then
    redis.call('DEL', key)
    redis.call('SREM', set, key)
  end
  return 'OK'
end
