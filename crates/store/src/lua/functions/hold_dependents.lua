-- Flags:
-- Makes existing jobs wait for staged ones (create.lua), so that none of them begins before these are created. If they
-- are not created, the existing jobs are let go (unstage_jobs.lua, and the releaser).
-- ARGV  group · number of its places · number of staged jobs, each: id · list of the jobs that are to wait for it
-- Gives {'held'} · {'gone'} (the group is to be removed, or a job waits for such a job of another group already)
-- · {'refused', number of the staged job, reason …} as in create.lua.
local insist = commands.insist

return function()
  local group, places = request.take_many(2)
  if not links.keep(group, places) then return { 'gone' } end
  local held = keys.held(group)
  insist('ZADD', keys.holding, request.digits_in(0), links.member(group, places))
  for nth = 1, request.take_number() do
    local id, ids = request.take(), request.take_list()
    local refused = relations.refuse(id, { prerequisite = {}, dependent = ids }, {})
    if refused then return { 'refused', nth, unpack(refused) } end
    insist('RPUSH', held, id .. ' ' .. table.concat(ids, ' '))
    redis.call('EXPIRE', held, links.STAGED_SECONDS)
    for _, other in ipairs(ids) do
      if not relations.hold(other, id, group) then return { 'gone' } end
    end
  end
  return { 'held' }
end
