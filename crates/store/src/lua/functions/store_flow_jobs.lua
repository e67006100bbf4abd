-- Flags:
-- Stores hashes of jobs of a flow that is being created, in the runner layout. The jobs themselves are stored after
-- them.
-- ARGV  number of the flow · its caller · number of jobs, each: its number · id · name · prerequisites, JSON · dependents, JSON
--       · number of fields and values · field · value …
-- Gives 'stored', or 'gone': the flow was given up.
local insist = commands.insist

return function()
  local number, caller = request.take_many(2)
  local flow, now = flows.read(number), coordinator.seconds()
  if not flow or flow.busy ~= 'storing' or flow.caller_id ~= caller then return 'gone' end
  for _ = 1, request.take_number() do
    local digits, id, name, prerequisites, dependents = request.take_many(5)
    local fields = request.take_number()
    local first = request.at + 1
    request.at = request.at + fields
    local key = keys.runner_job(caller, digits)
    insist('HSET', key, 'id', digits, 'caller_id', caller, 'context_id', keys.context, 'result', '{}', 'prerequisites', prerequisites,
      'dependends', dependents, 'created_at', now, 'updated_at', now, 'status', 'dispatched', 'name', name, 'flow', number, 'job_id', id,
      unpack(request.argv, first, request.at))
    redis.call('EXPIRE', key, flows.CREATED_SECONDS)
  end
  return 'stored'
end
