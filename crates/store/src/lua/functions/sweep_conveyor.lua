-- Flags: allow-oom
-- Cleans up lists and sets of conveyor jobs whose owner does not: it has ended already, or is unknown.
-- ARGV  prefix of conveyor keys · seconds to keep keys without an owner · ids …
-- Gives the number of jobs whose end is processed again.
return function()
  local prefix, seconds, again = request.take(), request.take(), 0
  while request.has_more() do
    local id = request.take()
    if redis.call('EXISTS', conveyor.job_key(prefix, id)) == 0 then
      local status = values.is_uuid(id) and jobs.status(id)
      if status and values.is_final(status) then
        again = again + 1
        conveyor.ended(prefix, id, status)
      elseif not status then
        for _, what in ipairs({ 'children', 'active', 'onComplete' }) do
          local key = conveyor.job_key(prefix, id, what)
          if redis.call('TTL', key) == -1 then redis.call('EXPIRE', key, seconds) end
        end
      end
    end
  end
  return again
end
