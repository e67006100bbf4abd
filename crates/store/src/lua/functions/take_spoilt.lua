-- Flags: no-writes
-- Returns the keys of another type in this context that functions have met, and left out or deleted; each once.
-- ARGV  none of its own
-- Gives the keys, each followed by '1' if it was deleted, or ''.
return function() return commands.take_spoilt() end
