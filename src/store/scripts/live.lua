#!lua flags=no-writes
-- Looks for jobs that have not ended and may pass a filter where such jobs stand. Writes nothing.
-- ARGV  9, 10 time, ms, and id of the first that is wanted, or '' and ''   11 status   12 no more jobs are looked at
--       13 how many are wanted   14… the filter, as in index.lua
-- Gives {'many'} (more jobs stand there) or {'more' or 'end', time and id where to go on, or '' and '', then time · id …}.
-- The newest come first.
local status, most, wanted, passes = ARGV[11], tonumber(ARGV[12]), tonumber(ARGV[13]), filter_from(14)
local from, id_from = tonumber(ARGV[9]), ARGV[10]
local sets = { scheduled_key }
if status == 'dispatched' then sets = { watched_key }
elseif status == 'started' then
  sets = { leases_key, watched_key }
  -- A long queue is not looked through for what runs elsewhere if nobody is there who could run it.
  if (try('ZCARD', watched_key) or 0) > most / 2 and redis.call('EXISTS', foreign_key) == 0 then sets[2] = nil end
end
sets[#sets + 1] = status_key('left')
local number_of = 0
for _, set in ipairs(sets) do number_of = number_of + (try('ZCARD', set) or 0) end
if number_of > most then return { 'many' } end

local jobs, seen = {}, {}
for _, set in ipairs(sets) do
  for _, id in ipairs(try('ZRANGE', set, 0, -1) or {}) do
    if not seen[id] and is_uuid(id) and passes(job_prefix .. id) then
      local time = listed_at(id)
      if time and (not from or time < from or time == from and id <= id_from) then jobs[#jobs + 1] = { time, id } end
    end
    seen[id] = true
  end
end
table.sort(jobs, function(a, b)
  if a[1] ~= b[1] then return a[1] > b[1] end
  return a[2] > b[2]
end)
local next_job, found = jobs[wanted + 1], {}
for at = 1, math.min(wanted, #jobs) do
  found[#found + 1] = string.format('%.0f', jobs[at][1])
  found[#found + 1] = jobs[at][2]
end
if not next_job then return { 'end', '', '', unpack(found) } end
return { 'more', string.format('%.0f', next_job[1]), next_job[2], unpack(found) }
