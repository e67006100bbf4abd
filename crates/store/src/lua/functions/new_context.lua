-- Flags:
-- Gives a number to a context that is to be created. Nobody uses the context until it is noted as existing.
-- ARGV  maximum number of contexts
-- Gives the number, or 'full'.
return function()
  local most = request.take_number()
  if (commands.try('ZCARD', keys.contexts) or 0) >= most then return 'full' end
  -- Numbers that settings name are skipped: each server lists them when it starts.
  for _ = 0, most do
    local id = commands.try('INCR', keys.sequence('context'))
    if not id then
      redis.call('SET', keys.sequence('context'), '0')
      id = redis.call('INCR', keys.sequence('context'))
    end
    if not commands.try('ZSCORE', keys.contexts, id) then
      commands.insist('ZADD', keys.contexts, -request.now, id)
      return values.digits(id)
    end
  end
  return 'full'
end
