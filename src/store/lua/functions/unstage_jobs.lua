-- Flags: allow-oom
-- Takes away what was staged (create.lua) and is not to be created.
-- ARGV  group · list of places · number of idempotency keys of these, each: digest of caller and key · id of the job that it was staged for
-- Gives 1.
local try = commands.try

return function()
  local group, staged = request.take(), {}
  for _, place in ipairs(request.take_list()) do staged[#staged + 1] = keys.staged(group, place) end
  if #staged > 0 then redis.call('UNLINK', unpack(staged)) end
  for _ = 1, request.take_number() do
    local digest, id = request.take_many(2)
    local key = keys.idempotency(digest)
    if try('HGET', key, 'job') == id and not jobs.exists(id) then redis.call('UNLINK', key) end
  end
  return 1
end
