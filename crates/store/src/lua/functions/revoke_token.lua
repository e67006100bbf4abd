-- Flags: allow-oom
-- Forgets a token.
-- ARGV  its id
-- Gives whether there was such a token.
return function()
  local revoked = access.forget(request.take())
  if revoked then access.changed() end
  return revoked and 1 or 0
end
