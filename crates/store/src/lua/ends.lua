-- Ends of jobs.
local try, insist = commands.try, commands.insist
local ends = {}

-- The time for which an ended job is kept, s.
function ends.seconds_kept(status, job)
  local retention = values.seconds_kept(job.retention)
  local kept = request.keep_finished
  if status ~= 'finished' then kept = request.keep_error elseif job.reply == 'waited' then kept = request.keep_waited end
  -- Usually it is the given value.
  if not retention and not job.idempotency_key then return kept end
  local seconds = retention or math.max(math.ceil(tonumber(kept)), 1)
  return job.idempotency_key and math.max(seconds, jobs.IDEMPOTENCY_SECONDS) or seconds
end

-- Queues the release of the relatives of a job that has ended, or was 'deleted' before its end. `rel` is its parent, or
-- '-'.
function ends.release(id, status, rel)
  -- A foreign program may have written anything.
  if string.find(rel, '%s') or rel == '' then rel = '-' end
  insist('LPUSH', keys.release, id .. ' ' .. status .. ' ' .. rel)
  request.releases = request.releases + 1
end

-- Pushes the end of a job to the list that its caller named. `said` is the beginning of the message, in a layout that
-- has its own.
local function reply_to(list, id, status, text, said)
  -- In a cluster, a key of another context may be in reach. Of our own lists, only replies are for others.
  local rest = string.sub(list, 1, #keys.prefix) == keys.prefix and string.sub(list, #keys.prefix + 1) or ''
  local is_ours = string.sub(rest, 1, 5) == 'hero:'
  if rest == '' or is_ours and not (string.find(rest, '^hero:reply:') or string.find(rest, '^hero:q:reply:')) then return end
  local message = said or { job_id = id, status = status }
  message[status == 'finished' and 'output' or 'error'] = text
  -- An existing list has another owner, and is not given an expiry. This user of Redis may have no right to the list.
  if commands.try_named('LPUSH', list, cjson.encode(message)) == 1 then redis.call('EXPIRE', list, jobs.REPLY_SECONDS) end
end

-- Ends a job: `text` is its output or its error, `job` is what `jobs.end_reader` read. The caller has written the other
-- fields of the end; the reply comes last. `replied`: the actor was a foreign one, and has pushed its reply itself.
function ends.end_job(id, status, attempt, text, kind, logged, job, replied)
  local seconds = ends.seconds_kept(status, job)
  -- A job with relations is kept until they are released, because the release reads it.
  if not job.rel then redis.call('EXPIRE', keys.job(id), seconds) end
  if logged then redis.call('EXPIRE', keys.log(id), seconds) end
  local said = job.dialect and layouts.mirror(id, job.dialect, status, text, seconds, replied or jobs.wants_no_reply(job))
  if replied then
    if jobs.wants_no_reply(job) then try('DEL', keys.reply(id)) else try('EXPIRE', keys.reply(id), jobs.REPLY_SECONDS) end
  elseif not jobs.wants_no_reply(job) then
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

-- The time of a job's end: now, or its start if the clock of Redis was set back since.
function ends.ends_at(started_at)
  local later = started_at and started_at > request.now_text and string.find(started_at, '^20%d%d%-%d%d%-%d%dT[%d:]+%.%d%d%dZ$')
  return later and started_at or request.now_text
end

-- Ends a job without an output.
function ends.fail(id, attempt, kind, text, job)
  local key = keys.job(id)
  -- A watched job that has ended would count as ended by a foreign actor, too.
  try('ZREM', keys.watched, id)
  local ended = ends.ends_at(redis.call('HGET', key, 'started_at'))
  redis.call('HSET', key, 'status', 'error', 'lease', '', 'error', text, 'error_kind', kind, 'finished_at', ended, 'updated_at', ended)
  redis.call('HDEL', key, unpack(jobs.ERROR, 3))
  ends.end_job(id, 'error', attempt, text, kind, true, job)
end

-- Counts a crash of a job, and ends the job at the last one that is allowed. True: it has ended.
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
