-- Flags: allow-oom
-- A fetch that is done although Redis has no memory left, so that ends are recorded. As fetch.lua.
return functions.fetch
