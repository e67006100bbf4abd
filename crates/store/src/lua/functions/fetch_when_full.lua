-- Flags: allow-oom
-- A fetch that is done although Redis has no memory left: what has ended is recorded all the same. As fetch.lua.
return functions.fetch
