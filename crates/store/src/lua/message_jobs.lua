-- Jobs that come with messages.
local try, insist = commands.try, commands.insist
local message_jobs = {}

-- The maximum number of jobs in the queue of a runner; and the time for which one is kept, s.
local MOST_QUEUED, RETENTION_SECONDS = 100000, 604800

-- Reads jobs from the arguments: their number, each: caller · number · script type · number of fields, each: name · value.
function message_jobs.take_jobs()
  local list = {}
  for at = 1, request.take_number() do
    local caller, number, script_type = request.take_many(3)
    local fields = {}
    for place = 1, 2 * request.take_number() do fields[place] = request.take() end
    list[at] = { caller = caller, number = number, script_type = script_type, fields = fields }
  end
  return list
end

-- Why these jobs may not be created now, as an answer, or nil: {'full', 'queue', script type, maximum number of waiting
-- jobs}, where `limit_of_queue` also covers jobs that left the queue but do not run yet; or {'full', 'rate', maximum
-- number per second} (0: any number).
function message_jobs.refuse_jobs(list, limit_of_queue, per_second)
  local lengths, most = {}, math.min(MOST_QUEUED, limit_of_queue)
  for _, job in ipairs(list) do
    local queue = keys.runner_queue(job.script_type)
    local length = lengths[queue] or messages.length(queue) + (queues.waiting_in(keys.work(job.script_type)) or 0)
    if length >= most then return { 'full', 'queue', job.script_type, values.digits(most) } end
    lengths[queue] = length + 1
  end
  local slow = #list > 0 and limit.too_fast(per_second, #list)
  return slow and { 'full', 'rate', values.digits(per_second) } or nil
end

-- The numbers of jobs that come with a message. A number of another job stays with that job: the new job gets a number
-- of its own. The numbers that others choose use up none of ours. Nil and the reason, as in `coordinator.next_number`:
-- not every job gets one.
function message_jobs.numbers_of(list)
  local numbers, reserved = {}, {}
  for at, job in ipairs(list) do
    local key = keys.runner_job(job.caller, job.number)
    if not reserved[key] and redis.call('EXISTS', key) == 0 then numbers[at], reserved[key] = job.number, true end
  end
  for at, job in ipairs(list) do
    local function key_of(number) return keys.runner_job(job.caller, number) end
    local number, why = numbers[at], nil
    if not number then number, why = coordinator.next_number('job', key_of, reserved) end
    if not number then return nil, why end
    numbers[at] = number
  end
  return numbers
end

-- The fields of a job, with the local numbers of other jobs of its message where they differ from those at the sender.
local function renumbered(job, others)
  local fields, own = {}, '"job:' .. job.caller .. ':'
  for at = 1, #job.fields, 2 do
    local name, value = job.fields[at], job.fields[at + 1]
    if name == 'prerequisites' then
      value = string.gsub(value, own .. '(%d+)"', function(number) return others[number] and own .. others[number] .. '"' end)
    elseif name == 'dependends' then
      value = string.gsub(value, '%d+', others)
    end
    fields[at], fields[at + 1] = name, value
  end
  return fields
end

-- Creates the jobs that came with a message, with their `numbers_of`: `job:{caller}:{n}`, and its key in
-- `queue:{type}`. `origin_id` is the number at its sender. Returns the name of each and the id that it will have.
function message_jobs.make_jobs(element, list, numbers, per_second)
  local made, names, others = {}, {}, {}
  limit.note_created(per_second, #list)
  for at, job in ipairs(list) do
    if numbers[at] ~= job.number then others[job.number] = numbers[at] end
  end
  for at, job in ipairs(list) do
    local number, now = numbers[at], coordinator.seconds()
    local key, fields = keys.runner_job(job.caller, number), next(others) and renumbered(job, others) or job.fields
    redis.call('HSET', key, 'id', number, 'caller_id', job.caller, 'context_id', keys.context, unpack(fields))
    redis.call('HSET', key, 'result', '{}', 'created_at', now, 'updated_at', now, 'status', 'dispatched', 'message', element,
      'origin_id', job.number)
    redis.call('EXPIRE', key, RETENTION_SECONDS)
    local name = 'job:' .. job.caller .. ':' .. number
    insist('ZADD', keys.answers, values.digits(request.now + 1000), name)
    redis.call('LPUSH', keys.runner_queue(job.script_type), name)
    made[#made + 1], made[#made + 2], names[at] = name, layouts.id_of(key), name
  end
  -- The message is kept as long as one of them is to be answered.
  try('HSET', messages.key(element), 'made', table.concat(names, ' '))
  return made
end

return message_jobs
