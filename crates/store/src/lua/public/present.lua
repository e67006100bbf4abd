-- Flags: allow-oom
-- Reports that an actor is alive, for 15 s: it is listed, and its script type is known. This works even if memory is
-- full.
-- KEYS  the presence: hero:meta:actor:inst:{type}:{group}:{instance}
-- ARGV  owner · context · description of the actor, a JSON object of at most 4 KB
-- Gives 'present'.
local LONGEST, SECONDS = 4096, 15

return function(names)
  local text, place = request.take(), string.sub(names[1], #keys.prefix + 1)
  -- A longer text is not read, because that would block Redis.
  local is_short = text and #text <= LONGEST
  local is_read, said = pcall(cjson.decode, is_short and text or '')
  local is_object = is_read and string.find(text, '^%s*{') and values.json(said)
  if not (is_object and values.is_actor(string.match(place, '^hero:meta:actor:inst:([^:]+):([^:]+):(%d+)$'))) then
    return redis.error_reply('ERR the key is that of a presence; then comes what the actor says of itself, a JSON object of 4 KB at most')
  end
  redis.call('SET', names[1], text, 'EX', SECONDS)
  return 'present'
end
