-- Flags: no-writes
-- Tells which keys of the context functions have met that were of another type, so that they left them out, or deleted them; each once.
-- ARGV  none of its own
-- Gives the keys, each followed by '1' if it was deleted, or ''.
return function() return commands.take_spoilt() end
