-- Flags: allow-oom
-- Moves a schedule past missed occurrences, without a job.
-- ARGV  occurrence, as in schedules.lua
-- Gives 'skipped' or 'fired' (another server was first, or the schedule is gone).
return function()
  local occurrence = unpack(schedules.occurrences_in(request.take()))
  if schedules.refuse_occurrence(occurrence) then return 'fired' end
  schedules.move_on(occurrence)
  return 'skipped'
end
