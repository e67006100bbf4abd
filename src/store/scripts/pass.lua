#!lua flags=allow-oom
-- Has a schedule move on over slots that were missed, without a job.
-- ARGV  9 slot, as in slot.lua
-- Gives 'passed' or 'fired' (another server was first, or the schedule is gone).
local slot = slots_in(ARGV[9])[1]
if refuse_slot(slot) then return 'fired' end
move_on(slot)
return 'passed'
