-- How other layouts see a job. A job of theirs has a hash like all others, which every function works with. That hash
-- names its layout (field `dialect`). If the layout keeps a hash of its own (`dialect_key`), changes of the job are
-- written there, too.
local layouts = {}

-- A layout is data:
--   element   a pattern of its queue elements      prefix    the part before an element in the key of its hash
--   words     its words for our statuses           seconds   its times are whole seconds
--   named     its word for a job in replies        result    the field of its hash with output or error, as a JSON object
layouts.named = {
  legacy = { element = '^[%x-]+$', prefix = 'hero:job:' },
  rhailib = {
    element = '^[%w_.-]+$', prefix = 'rhai_task_details:', named = 'task_id',
    words = {
      created = 'pending', scheduled = 'pending', waiting_for_prerequisites = 'pending', dispatched = 'pending',
      started = 'processing', finished = 'completed', error = 'error',
    },
  },
  runner = {
    element = '^job:%d+:%d+$', prefix = '', seconds = true, result = 'result',
    words = {
      created = 'dispatched', scheduled = 'dispatched', waiting_for_prerequisites = 'waiting_for_prerequisites',
      dispatched = 'dispatched', started = 'started', finished = 'finished', error = 'error',
    },
  },
}

-- The value of `twin_only` for a job that is in our queue no more, and was left in its shadow queue.
local LEFT = 'left'

-- The id of our job for one of another layout with this key.
function layouts.id_of(key)
  local sum = redis.sha1hex(keys.context .. ' ' .. key)
  return string.format('%s-%s-5%s-8%s-%s', string.sub(sum, 1, 8), string.sub(sum, 9, 12), string.sub(sum, 14, 16), string.sub(sum, 18, 20),
    string.sub(sum, 21, 32))
end

-- The time for which the hash of a numbered job that has not ended is kept, s, as text; `run_at_ms` is the due time in
-- its hash.
function layouts.seconds_open(run_at_ms)
  local later = math.max(values.number(run_at_ms or nil, 0) - request.now, 0)
  return values.digits(flows.OPEN_SECONDS + math.ceil(later / 1000))
end

-- Writes the state of a job to the hash that its layout keeps of it. At its end, `text` is its output or error, and
-- `seconds` the time for which it is kept; `replied`: no reply from here is needed. Returns the beginning of a reply,
-- in a layout that has its own.
function layouts.mirror(id, layout, status, text, seconds, replied)
  local kind = layouts.named[layout]
  if not kind then return nil end
  if not kind.words then
    if seconds and not replied then commands.try_named('LPUSH', keys.legacy_reply(id), text) end
    if seconds then commands.try_named('EXPIRE', keys.legacy_reply(id), jobs.REPLY_SECONDS) end
    return nil
  end
  local known = redis.pcall('HMGET', keys.job(id), 'dialect_key', 'flow', 'run_at_ms')
  local key, flow = known[1], known[2]
  -- The writer of the hash may have named any key of ours or of another context.
  local start = keys.prefix .. kind.prefix
  local element = type(key) == 'string' and string.sub(key, 1, #start) == start and string.sub(key, #start + 1)
  if not element or #element > 128 or not string.find(element, kind.element) then return nil end
  local now = kind.seconds and string.format('%d', math.floor(request.now / 1000)) or request.now_text
  local fields = { 'status', kind.words[status], 'updated_at', now }
  if seconds then
    local what = status == 'finished' and 'output' or 'error'
    fields[5] = kind.result or what
    fields[6] = kind.result and cjson.encode({ [what] = text }) or text
    -- The result of an earlier attempt.
    if not kind.result then redis.pcall('HDEL', key, what == 'output' and 'error' or 'output') end
  end
  -- The fields of the runner layout before this change.
  local read = layout == 'runner' and commands.try_named('HMGET', key, 'numbered', 'job_id', 'status', 'message', 'stopped_with')
  local had = read or {}
  local is_numbered, kept = had[1] == '1', seconds
  -- A hash that is gone is not created again in part, and a hash of another job stays as it is.
  if redis.pcall('EXISTS', key) == 1 and not (is_numbered and had[2] ~= id) then
    if is_numbered and not seconds then
      -- The job goes on, maybe after its end.
      fields[5], fields[6] = kind.result, '{}'
      kept = layouts.seconds_open(known[3])
    end
    commands.try_named('HSET', key, unpack(fields))
    if kept then redis.pcall('EXPIRE', key, kept) end
  end
  if flow and read then
    flows.note(flow, had[3] or '', kind.words[status], tonumber(string.match(element, '%d+$')))
  end
  -- The job came with a message, which is answered.
  if seconds and had[4] then
    redis.pcall('LPUSH', keys.results, element .. ' ' .. id)
    redis.pcall('LTRIM', keys.results, 0, 9999)
  end
  -- The stop is complete. If somebody runs the job again, that is another run.
  if seconds and had[5] then redis.pcall('HDEL', key, 'stopped_with') end
  return kind.named and { [kind.named] = element, status = kind.words[status] } or nil
end

-- Forgets the hash in the runner layout of a job that number_job.lua numbered, and of no other.
local function forget_number(id)
  local key = redis.pcall('HGET', keys.job(id), 'dialect_key')
  if type(key) ~= 'string' or string.sub(key, 1, #keys.prefix + 4) ~= keys.prefix .. 'job:' then return end
  local known = redis.pcall('HMGET', key, 'numbered', 'job_id')
  if known[1] == '1' and known[2] == id then redis.call('UNLINK', key) end
end

-- Deletes a job of this layout (or none) with all of its keys.
function layouts.erase(id, layout)
  if layout == 'runner' then forget_number(id) end
  redis.call('UNLINK', keys.job(id), keys.reply(id), keys.log(id))
  commands.try('ZREM', keys.index_of_status('error'), id)
end

-- The legacy queue to which a job is pushed as well, whether it is pushed only there, and whether it was left there
-- (`remove_from_shadow`). The writer of the hash may have named any key: only the names of legacy queues count, and no
-- hash of a job is one.
function layouts.shadow_of(id)
  local named, only = unpack(redis.pcall('HMGET', keys.job(id), 'twin', 'twin_only'))
  if not named then return nil, nil, nil end
  local worker, is_queue = keys.worker_of(named)
  if not worker or not values.is_name(worker) then return nil, nil, nil end
  if not is_queue and string.find(worker, '^%x+%-%x+%-%x+%-%x+%-%x+$') then return nil, nil, nil end
  return named, only == '1', only == LEFT
end

-- Removes a job that is to start from its shadow queue. False: it must not start, unless it has been started before.
-- Either a foreign actor has taken it from there: it stays dispatched, and is pushed again, only to our queue, if
-- nobody starts it. Or it is far from both ends of a long queue: then it is left there, for foreign actors, until it
-- comes near an end or the queue is short (reap.lua). So it is in one queue at most, and does not run twice.
function layouts.remove_from_shadow(id, was_started)
  local shadow = layouts.shadow_of(id)
  if not shadow or commands.remove(shadow, id, -1) then return true end
  if commands.is_long(shadow) and not was_started then
    redis.call('HSET', keys.job(id), 'twin_only', LEFT)
  else
    redis.pcall('HDEL', keys.job(id), 'twin', 'twin_only')
  end
  redis.call('ZADD', keys.watched, 'NX', request.now + 500, id)
  return false
end

return layouts
