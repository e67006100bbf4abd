#!lua flags=allow-oom
-- Puts jobs into their queues whose time has come, and ids whose hash has come; gives up jobs that nobody started.
-- ARGV  9 at most so many of each   10 '1' if nobody looked for a while, so that no hash that is missing had its time, else ''
-- Gives {number of entries handled, next due time, ms, or '', script types that have work …}.
local limit, handled = ARGV[9], 0

for _, id in ipairs(redis.call('ZRANGEBYSCORE', scheduled_key, '-inf', now, 'LIMIT', 0, limit)) do
  handled = handled + 1
  redis.call('ZREM', scheduled_key, id)
  local job = try('HMGET', job_prefix .. id, 'status', 'script_type', 'group', 'instance', 'priority', 'attempt', 'open', unpack(END_FIELDS))
  if job and job[1] == 'scheduled' then
    local script_type = job[2] or 'osis'
    local queue = work_key(script_type, job[3], job[4], job[5])
    if begin(id, job[6] or 0, script_type, queue, nil, tonumber(job[7]) or 0) == 'dispatched' then has_work(script_type) end
  elseif job and job[1] == 'created' then
    fail(id, 0, 'stopped', 'stopped', of_end(job, 8))
  end
end

for _, member in ipairs(redis.call('ZRANGE', unwritten_key, 0, limit - 1, 'WITHSCORES')) do
  -- What came out of a queue of another layout also names its hash, or '-' if it only waits, and who looks into that queue.
  local id, queue, hash, other_type = string.match(member, '^(%S+) (%S+) ?(%S*) ?(%S*)$')
  if id then
    local known = hash ~= '-' and redis.call('EXISTS', hash ~= '' and hash or job_prefix .. id) == 1
    local due = redis.call('ZSCORE', unwritten_key, member) + 0 <= now
    if due and not known and hash ~= '-' and ARGV[10] == '1' then
      -- Whoever writes it may have been held up as we were.
      redis.call('ZADD', unwritten_key, now + 5000, member)
    elseif known or due then
      handled = handled + 1
      redis.call('ZREM', unwritten_key, member)
      local script_type = string.match(queue, ':type:([^:]+)')
      if hash == '' then
        if known and script_type and push(queue, script_type, id, true) then has_work(script_type) end
      elseif (known or hash == '-') and try(known and 'RPUSH' or 'LPUSH', queue, id) then
        redis.call('PUBLISH', bell(other_type), server)
        has_work(other_type)
      end
    end
  else
    redis.call('ZREM', unwritten_key, member)
  end
end

flush()
tell_own()
local next_due = redis.call('ZRANGE', scheduled_key, 0, 0, 'WITHSCORES')[2] or ''
if redis.call('EXISTS', unwritten_key) == 1 then next_due = string.format('%.0f', now + 200) end
return { handled, next_due, unpack(types) }
