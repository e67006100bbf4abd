-- Flags: allow-oom
-- A turn that is done although Redis has no memory left: what has ended is recorded all the same. As turn.lua.
return functions.turn
