-- Flags: allow-oom
-- Notes that the rights of an identity have changed in a context.
-- ARGV  the identity that had the role or has it now, whose number is never given again; or '' · the context
-- Gives 1.
return function()
  access.keep_number(request.take())
  access.context_changed(request.take())
  return 1
end
