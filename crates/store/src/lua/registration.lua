-- Carries out the calls of functions. It follows everything else, which `made_library` creates with the first call:
-- while Redis loads a library, Lua's own functions are missing.
local library, used_at

local function carry_out(name, given, argv)
  library = library or made_library()
  local refusal = library.request.enter(given, argv)
  used_at = library.request.now
  return refusal or library.functions[name]()
end

-- The time since the last call of a function, ms. Without a call since the library was loaded, it counts from the first
-- time that this is asked.
local function idle()
  local clock = redis.call('TIME')
  local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
  -- Or the clock was set back since.
  if not used_at or used_at > now then used_at = now end
  return now - used_at
end
