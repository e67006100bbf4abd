#!lua flags=allow-oom
-- Takes ids out of an hour's index whose job is gone. At the front that costs nothing, so it is done at once. Elsewhere they are counted first,
-- and where they are many, the whole list is gone through from the front: what stays is moved to a list that takes its place in the end.
-- Those that ended in error are put among those of that status, if whoever ended them was of a version that did not.
-- ARGV  9 index key   10 'look' or 'move'   11 where to look, from the front   12 how many to look at
-- Gives {'look' (there is more to look at) or 'end', where to go on, how many were met that are gone and still there} · {'move' (there is more to
-- move) or 'end'}.
local index, moves, from, many = ARGV[9], ARGV[10] == 'move', tonumber(ARGV[11]), tonumber(ARGV[12])
local front = front_of(index)

-- What an outsider made of them gives way.
for _, list in ipairs({ index, front }) do
  local kind = redis.call('TYPE', list).ok
  if kind ~= 'list' and kind ~= 'none' then redis.call('DEL', list) end
end

local function is_gone(id)
  local status = try('HGET', job_prefix .. id, 'status')
  if status == 'error' and not try('ZSCORE', status_key('error'), id) then list_error(id) end
  return not status and redis.call('EXISTS', job_prefix .. id) == 0
end

if moves or from == 0 and redis.call('EXISTS', front) == 1 then
  local ids, kept = try('LPOP', index, many) or {}, {}
  for _, id in ipairs(ids) do
    if not is_gone(id) then kept[#kept + 1] = id end
  end
  if #kept > 0 then redis.call('RPUSH', front, unpack(kept)) end
  if redis.call('EXISTS', index) == 1 then return { 'move' } end
  if redis.call('EXISTS', front) == 1 then redis.call('RENAME', front, index) end
  return { 'end' }
end

local ids, taken, gone = index_range(index, from, from + many - 1), 0, 0
for at, id in ipairs(ids) do
  if is_gone(id) then
    if from == 0 and taken == at - 1 then taken = at else gone = gone + 1 end
  end
end
if taken > 0 then redis.call('LPOP', index, taken) end
return { #ids < many and 'end' or 'look', from + #ids - taken, gone }
