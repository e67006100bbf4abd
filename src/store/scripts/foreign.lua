-- What follows from what foreign actors do, who only write the hash; stands behind relations.lua.

-- Whether a job was made here or noticed before: then it stands in one of these sets, or bears the mark of a transition. A key of another type is
-- none to be noticed.
local function is_known(id)
  local marks = try('HMGET', job_prefix .. id, 'indexed', 'lease', 'open', 'unseen')
  if not marks then return true end
  if marks[1] or marks[2] or marks[3] or marks[4] then return not marks[4] end
  return redis.call('ZSCORE', watched_key, id) or redis.call('ZSCORE', scheduled_key, id)
    or redis.call('ZSCORE', leases_key, id)
end

-- Takes note of an end that a foreign actor wrote: its retries apply, and everything happens that follows an end. Gives the status then.
local function settle(id, status)
  local key = job_prefix .. id
  redis.call('ZREM', watched_key, id)
  local counted = redis.call('ZREM', leases_key, id) == 1
  local job = redis.call('HMGET', key, 'attempt', 'failures', 'retries', 'retry_backoff', 'error', 'output', 'stop_requested_at', 'seen_at', 'finished_at',
    'script_type', 'started_at', unpack(END_FIELDS))
  local attempt, of, ended = tonumber(job[1]) or 0, of_end(job, 12), job[9] or now_text
  -- It was so quick that nobody saw it run.
  if not job[8] and not counted then
    attempt = attempt + 1
    if redis.call('HDEL', key, 'released') == 0 and job[10] then count(job[10], 'started') end
  end
  -- It was seen to run later than that: its actor's clock is slow.
  if (millis(ended) or now) < (millis(job[11]) or 0) then ended = ends_at(job[11]) end
  redis.call('HDEL', key, 'seen_at', 'missing_at')
  if of[9] == 'legacy' then
    -- It may have been taken from its twin queue.
    local queue = redis.call('HMGET', key, 'group', 'instance', 'priority')
    try('LREM', work_key(job[10] or 'osis', queue[1], queue[2], queue[3]), -1, id)
  end
  if status == 'finished' then
    redis.call('HSET', key, 'attempt', attempt, 'lease', '', 'finished_at', ended, 'updated_at', now_text)
    end_job(id, status, attempt, job[6] or '', nil, true, of, true)
    return status
  end
  local text, failures = job[5] or '', (tonumber(job[2]) or 0) + 1
  local kind = text == 'timeout' and 'timeout' or (text == 'stopped' or text == 'stopped_by_request') and 'stopped' or 'script'
  if kind ~= 'stopped' and not job[7] and failures <= number(job[3], 0) then
    local pause = math.min(number(job[4], 1) * 2 ^ math.min(failures - 1, 20), 300)
    redis.call('HSET', key, 'status', 'scheduled', 'attempt', attempt, 'lease', '', 'failures', failures, 'error_kind', kind, 'updated_at', now_text)
    redis.call('ZADD', scheduled_key, now + math.floor(pause * 1000), id)
    if of[9] then mirror(id, of[9], 'scheduled') end
    event(id, 'scheduled', attempt, kind)
    count(job[10] or 'osis', 'retried')
    return 'scheduled'
  end
  redis.call('HSET', key, 'attempt', attempt, 'lease', '', 'failures', failures, 'error_kind', kind, 'finished_at', ended, 'updated_at', now_text)
  end_job(id, 'error', attempt, text, kind, true, of, true)
  return 'error'
end
