-- Flags: allow-oom
-- Notes that rights have changed in some context.
return function()
  access.changed()
  return 1
end
