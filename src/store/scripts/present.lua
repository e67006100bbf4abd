#!lua flags=no-writes
-- The present state of a job, and the place in the event stream where it stands.
-- ARGV  9 id
-- Gives {} (missing) or {id of the newest event, status, attempt, time of the last change, error kind, progress}.
local job = try('HMGET', job_prefix .. ARGV[9], 'status', 'attempt', 'updated_at', 'error_kind', 'progress', 'id')
if not job or not (job[1] or job[6]) and redis.call('EXISTS', job_prefix .. ARGV[9]) == 0 then return {} end
local newest = redis.call('XREVRANGE', events_key, '+', '-', 'COUNT', 1)[1]
return { newest and newest[1] or '0-0', unpack(job, 1, 5) }
