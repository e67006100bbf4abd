-- Carries out the calls of functions. Stands behind everything else, which is made by `made_library` with the first call: while Redis
-- loads a library it has none of Lua's own functions.
local library, used_at

local function carry_out(name, given, argv)
  library = library or made_library()
  local refusal = library.request.enter(given, argv)
  used_at = library.request.now
  return refusal or library.functions[name]()
end

-- For how long none of the functions was called, ms. Where none was called since the library was loaded, it counts from the first time
-- that this is asked.
local function idle()
  local clock = redis.call('TIME')
  local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
  -- Or the clock was set back meanwhile.
  if not used_at or used_at > now then used_at = now end
  return now - used_at
end
