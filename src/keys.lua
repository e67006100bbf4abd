-- The keys of one context, for scripts that meet jobs they were not given. Twin of keys.rs; a test compares the two.
-- Parts between blank lines go into a script only if it mentions what they define.
-- ARGV  1 key prefix   2 context
local prefix, context = ARGV[1], ARGV[2]

local job_prefix = prefix .. 'hero:job:'

local reply_prefix = prefix .. 'hero:q:reply:'

local function log_key(id) return prefix .. 'hero:log:' .. id end

local function stats_key(script_type) return prefix .. 'hero:meta:queue:stats:' .. script_type end

local function control_key(script_type) return prefix .. 'hero:q:ctl:type:' .. script_type end

local function legacy_reply_key(id) return prefix .. 'hero:reply:' .. id end

local function legacy_stop_key(worker) return prefix .. 'hero:stop_queue:' .. worker end

local function idempotency_key(digest) return prefix .. 'hero:idem:' .. digest end

local function bell(script_type) return 'hero:bell:' .. context .. ':' .. script_type end

local function inbox(server) return 'hero:inbox:' .. server end

local function legacy_work_key(worker) return prefix .. 'hero:work_queue:' .. worker end

local scheduled_key = prefix .. 'hero:q:scheduled'

local leases_key = prefix .. 'hero:q:leases'

local unwritten_key = prefix .. 'hero:q:unwritten'

local watched_key = prefix .. 'hero:q:watched'

local release_key = prefix .. 'hero:q:release'

local conveyor_key = prefix .. 'hero:q:conveyor'

local function rel_key(id, what) return prefix .. 'hero:rel:' .. id .. ':' .. what end

local calm_key = prefix .. 'hero:meta:calm'

local foreign_key = prefix .. 'hero:meta:foreign'

-- The index of the hour of a time, which is RFC 3339 in UTC.
local function index_key(time) return prefix .. 'hero:index:' .. (string.gsub(string.sub(time, 1, 13), '[-T]', '')) end

local reaped_key = prefix .. 'hero:meta:reaped'

local hours_key = prefix .. 'hero:meta:hours'

-- The jobs of a status, by the time since when they are in the index of an hour.
local function status_key(status) return prefix .. 'hero:index:' .. status end

local strays_key = prefix .. 'hero:meta:strays'

local types_key = prefix .. 'hero:meta:types'

local queues_key = prefix .. 'hero:meta:queues'

local paused_key = prefix .. 'hero:meta:paused'

local fair_key = prefix .. 'hero:meta:fair'

local capped_key = prefix .. 'hero:q:capped'

-- What a queue keeps of jobs sorted by caller: 'ring', 'held', or 'of:' and a digest of the caller.
local function fair_part(queue, what) return prefix .. 'hero:q:fair:' .. string.sub(queue, #prefix + #'hero:q:work:' + 1) .. ':' .. what end

local schedules_key = prefix .. 'hero:meta:schedules'

local function schedule_key(id) return prefix .. 'hero:schedule:' .. id end

local function schedule_waiting_key(id) return prefix .. 'hero:schedule:' .. id .. ':waiting' end

local events_key = prefix .. 'hero:events'

local function control_instance_key(actor)
  local script_type, group, instance = string.match(actor, '^([^:]+):([^:]+):([^:]+)$')
  return script_type and control_key(script_type) .. ':group:' .. group .. ':inst:' .. instance
end

-- An instance without a group is one of the group 'default'; normal priority has no suffix.
local function work_key(script_type, group, instance, priority)
  local key = prefix .. 'hero:q:work:type:' .. script_type
  if instance and instance ~= '' then
    key = key .. ':group:' .. ((group and group ~= '') and group or 'default') .. ':inst:' .. instance
  elseif group and group ~= '' then
    key = key .. ':group:' .. group
  end
  if priority == '0' or priority == '2' then key = key .. ':prio:' .. priority end
  return key
end
