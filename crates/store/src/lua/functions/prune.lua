-- Flags: allow-oom
-- Removes ids of deleted jobs from an hour's index. At the front that costs nothing, so it is done at once. Elsewhere
-- they are counted first, and if there are many, the whole list is processed from the front: the remaining ids move to
-- a list that replaces it at the end.
-- Jobs that ended in error are added to the index of that status, if they were ended by an older version, which did not
-- do so.
-- ARGV  index key · 'look' or 'move' · position to start at, from the front · number of ids to check
-- Gives {'look' (there is more to check) or 'end', position to continue at, number of deleted and of existing jobs} ·
-- {'move' (there is more to move) or 'end'}.
local try = commands.try

local function is_gone(id)
  local status = jobs.status(id)
  if status == 'error' and not try('ZSCORE', keys.index_of_status('error'), id) then jobs.list_error(id) end
  return not status and not jobs.exists(id)
end

local function move(list, front, many)
  local kept = {}
  for _, id in ipairs(try('LPOP', list, many) or {}) do
    if not is_gone(id) then kept[#kept + 1] = id end
  end
  if #kept > 0 then redis.call('RPUSH', front, unpack(kept)) end
  if redis.call('EXISTS', list) == 1 then return { 'move' } end
  if redis.call('EXISTS', front) == 1 then redis.call('RENAME', front, list) end
  return { 'end' }
end

return function()
  local list, moves, from, many = request.take(), request.take() == 'move', request.take_number(), request.take_number()
  local front = index.front_of(list)

  -- Keys of another type, which a foreign program made, are deleted.
  for _, key in ipairs({ list, front }) do
    local kind = redis.call('TYPE', key).ok
    if kind ~= 'list' and kind ~= 'none' then commands.give_way(key) end
  end
  if moves or from == 0 and redis.call('EXISTS', front) == 1 then return move(list, front, many) end

  local ids, taken, gone = index.range(list, from, from + many - 1), 0, 0
  for at, id in ipairs(ids) do
    if is_gone(id) then
      if from == 0 and taken == at - 1 then taken = at else gone = gone + 1 end
    end
  end
  if taken > 0 then redis.call('LPOP', list, taken) end
  return { #ids < many and 'end' or 'look', from + #ids - taken, gone }
end
