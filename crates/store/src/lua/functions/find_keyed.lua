-- Flags: no-writes
-- Finds what earlier calls with idempotency keys created, also while Redis is full.
-- ARGV  'job', 'flow' or 'schedule' · then each key: digest of caller and idempotency key · digest of the parameters
--       · a job: caller · idempotency key
-- Gives for each key {} (nothing), or the answer as in keyed.lua.
return function()
  local what, found = request.take(), {}
  local closed = access.refuse_closed()
  if closed then return closed end
  while request.has_more() do
    local key, digest = request.take_many(2)
    local caller_id, idempotency_key
    if what == 'job' then caller_id, idempotency_key = request.take_many(2) end
    found[#found + 1] = keyed[what](key, digest, caller_id, idempotency_key) or {}
  end
  return found
end
