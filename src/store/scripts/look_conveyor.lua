#!lua flags=no-writes
-- What the end of a conveyor job is about: itself, the next of its children and the next of its heirs.
-- ARGV  9 what conveyor keys begin with   10 id   11 at most so many of each
-- Gives {status or '', error or '', failed attempts, parent or '', the job or '', number of children, child …, heir …}.
local at, id, limit = ARGV[9], ARGV[10], ARGV[11]
local job = try('HMGET', job_prefix .. id, 'status', 'error', 'failures', 'crashes', 'dialect_parent') or {}
local children = try('LRANGE', conveyor_job_key(at, id, 'children'), -limit, -1) or {}
local heirs = try('LRANGE', conveyor_job_key(at, id, 'onComplete'), -limit, -1) or {}
local attempts = (tonumber(job[3]) or 0) + (tonumber(job[4]) or 0)
local answer = { job[1] or '', job[2] or '', tostring(attempts), job[5] or '', try('GET', conveyor_job_key(at, id)) or '', tostring(#children) }
-- Taken from the right, so the last one comes first.
for place = #children, 1, -1 do answer[#answer + 1] = children[place] end
for place = #heirs, 1, -1 do answer[#answer + 1] = heirs[place] end
return answer
