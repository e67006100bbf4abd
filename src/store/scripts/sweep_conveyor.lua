#!lua flags=allow-oom
-- Looks after lists and sets of conveyor jobs whose owner does not: it has ended already, or is unknown.
-- ARGV  9 what conveyor keys begin with   10 seconds to keep what nobody owns   11… ids
-- Gives the number of jobs whose end is worked off again.
local at, seconds, again = ARGV[9], ARGV[10], 0
for place = 11, #ARGV do
  local id = ARGV[place]
  if redis.call('EXISTS', conveyor_job_key(at, id)) == 0 then
    local status = is_uuid(id) and try('HGET', job_prefix .. id, 'status')
    if status and is_final(status) then
      again = again + 1
      conveyor_ended(at, id, status)
    elseif not status then
      for _, what in ipairs({ 'children', 'active', 'onComplete' }) do
        local key = conveyor_job_key(at, id, what)
        if redis.call('TTL', key) == -1 then redis.call('EXPIRE', key, seconds) end
      end
    end
  end
end
return again
