-- Flags: allow-oom
-- Notes that contexts exist, or have changed, so that all servers read them again.
-- ARGV  'new' (only unlisted ones), 'elsewhere' (the same, and they are in a Redis of their own) or 'changed' (only listed ones)
--       · contexts …
-- Gives the number of noted contexts.
return function()
  local what, noted = request.take(), 0
  while request.has_more() do
    local id = request.take()
    local is_listed = commands.try('ZSCORE', keys.contexts, id) and true or false
    if is_listed == (what == 'changed') then
      if what == 'elsewhere' then commands.insist('ZADD', keys.contexts, '+inf', id) end
      access.context_changed(id)
      noted = noted + 1
    end
  end
  return noted
end
