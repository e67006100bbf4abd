-- Flags: allow-oom
-- Has a schedule move on over slots that were missed, without a job.
-- ARGV  slot, as in schedules.lua
-- Gives 'skipped' or 'fired' (another server was first, or the schedule is gone).
return function()
  local slot = unpack(schedules.slots_in(request.take()))
  if schedules.refuse_slot(slot) then return 'fired' end
  schedules.move_on(slot)
  return 'skipped'
end
