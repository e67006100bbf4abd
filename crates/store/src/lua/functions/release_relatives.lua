-- Flags: allow-oom
-- Releases the relatives of jobs that have ended. First it finishes groups of jobs that were created together and whose creator has not,
-- and removes what was staged and not created in time (links.lua).
-- ARGV  maximum number of relatives
-- Gives {1 if there is more to do else 0, script types that have work …}.
return function()
  -- A job counts, too, so with less than two nothing would ever be done.
  local left = math.max(request.take_number(), 2)
  -- A group that cannot be linked now blocks nothing else.
  local is_entered, entered = pcall(links.enter_some, left)
  if is_entered then left = left - entered end
  local is_unstaged, more_staged = pcall(links.unstage_some)
  relatives.release(left)
  news.send_all()
  if not is_entered then error({ err = entered }) end
  if not is_unstaged then error({ err = more_staged }) end
  local more = more_staged or redis.call('EXISTS', keys.release, keys.linking) > 0
  return { more and 1 or 0, unpack(request.types) }
end
