-- Flags: allow-oom
-- Notes that the rights of an identity have changed in some context.
-- ARGV  the identity, whose number is never given again
-- Gives 1.
return function()
  access.keep_number(request.take())
  access.changed()
  return 1
end
