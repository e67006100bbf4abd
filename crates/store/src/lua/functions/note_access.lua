-- Flags: allow-oom
-- Notes that rights have changed in a context.
-- ARGV  the context
-- Gives 1.
return function()
  access.context_changed(request.take())
  return 1
end
