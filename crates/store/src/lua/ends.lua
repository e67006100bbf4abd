-- How a job ends.
local try, insist = commands.try, commands.insist
local ends = {}

-- Seconds to keep a job that has ended.
function ends.seconds_kept(status, job)
  local retention = values.seconds_kept(job.retention)
  local kept = request.keep_finished
  if status ~= 'finished' then kept = request.keep_error elseif job.reply == 'none' then kept = request.keep_waited end
  -- Nearly always as it came.
  if not retention and not job.idempotency_key then return kept end
  local seconds = retention or math.max(math.ceil(tonumber(kept)), 1)
  return job.idempotency_key and math.max(seconds, jobs.IDEMPOTENCY_SECONDS) or seconds
end

-- Has the relatives of a job released that has ended, or was 'deleted' before it did. `rel` is its parent, or '-'.
function ends.release(id, status, rel)
  -- A foreign program may have written anything.
  if string.find(rel, '%s') or rel == '' then rel = '-' end
  insist('LPUSH', keys.release, id .. ' ' .. status .. ' ' .. rel)
  request.releases = request.releases + 1
end

-- Pushes the end of a job to the list that its caller named. `said` is the beginning of the message in a layout that has its own.
local function reply_to(list, id, status, text, said)
  -- In a cluster a key of another context may be in reach, and of ours only replies are lists for others.
  local rest = string.sub(list, 1, #keys.prefix) == keys.prefix and string.sub(list, #keys.prefix + 1) or ''
  local is_ours = string.sub(rest, 1, 5) == 'hero:'
  if rest == '' or is_ours and not (string.find(rest, '^hero:reply:') or string.find(rest, '^hero:q:reply:')) then return end
  local message = said or { job_id = id, status = status }
  message[status == 'finished' and 'output' or 'error'] = text
  -- A list that was there before has an owner; and this user of Redis may have no right to this one.
  if commands.try_named('LPUSH', list, cjson.encode(message)) == 1 then redis.call('EXPIRE', list, jobs.REPLY_SECONDS) end
end

-- Ends a job: `text` is its output or its error, `job` what `jobs.end_reader` read of it. The caller has written the other fields of the
-- end; the reply comes last. `replied`: the actor was a foreign one, and has pushed its reply itself.
function ends.end_job(id, status, attempt, text, kind, logged, job, replied)
  local seconds = ends.seconds_kept(status, job)
  -- One with relations is kept until they are released, which has to know of it.
  if not job.rel then redis.call('EXPIRE', keys.job(id), seconds) end
  if logged then redis.call('EXPIRE', keys.log(id), seconds) end
  local said = job.dialect and layouts.mirror(id, job.dialect, status, text, seconds, replied or job.reply == 'none')
  if replied then
    if job.reply == 'none' then try('DEL', keys.reply(id)) else try('EXPIRE', keys.reply(id), jobs.REPLY_SECONDS) end
  elseif job.reply ~= 'none' then
    try('LPUSH', keys.reply(id), text)
    try('EXPIRE', keys.reply(id), jobs.REPLY_SECONDS)
  end
  local list = job.reply_to or job.reply_to_queue
  if list then reply_to(list, id, status, text, said) end
  news.event(id, status, attempt, kind)
  news.notify(job.origin, id)
  if status == 'error' then jobs.list_error(id) end
  if job.script_type then news.count(job.script_type, status) end
  if job.rel then ends.release(id, status, job.rel) end
end

-- When a job ends: now, or when it started, if the clock of Redis was turned back meanwhile.
function ends.ends_at(started_at)
  local later = started_at and started_at > request.now_text and string.find(started_at, '^20%d%d%-%d%d%-%d%dT[%d:]+%.%d%d%dZ$')
  return later and started_at or request.now_text
end

-- Ends a job that did not get an output.
function ends.fail(id, attempt, kind, text, job)
  local key = keys.job(id)
  -- What is watched when it has ended would count as ended by a foreign actor, too.
  try('ZREM', keys.watched, id)
  local ended = ends.ends_at(redis.call('HGET', key, 'started_at'))
  redis.call('HSET', key, 'status', 'error', 'lease', '', 'error', text, 'error_kind', kind, 'finished_at', ended, 'updated_at', ended)
  redis.call('HDEL', key, unpack(jobs.ERROR, 3))
  ends.end_job(id, 'error', attempt, text, kind, true, job)
end

-- Counts a death of the actor under a job, and ends the job at the last that it may have. True: it has ended.
function ends.crashed(id, attempt, crashes, script_type, job)
  crashes = (tonumber(crashes) or 0) + 1
  redis.call('HSET', keys.job(id), 'crashes', crashes)
  news.count(script_type, 'crashed')
  if crashes < jobs.CRASHES then
    attempts.keep(id, attempt, 'error', 'the engine or actor died under it')
    return false
  end
  ends.fail(id, attempt, 'crashed', 'the engine or actor died ' .. crashes .. ' times under this job', job)
  return true
end

return ends
