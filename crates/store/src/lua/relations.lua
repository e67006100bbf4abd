-- Relations of jobs: which jobs wait for which. `open` of a job counts the jobs that it waits for, and each of these
-- releases it exactly once.
local try, insist = commands.try, commands.insist
local relations = {}

-- Ids beyond this number are not added to the text in the hash, which is rewritten for each, but are fields of their
-- own.
local MOST_IN_TEXT = 100
-- The maximum number of ids that may be added to a job in this way.
local MOST_ADDED = 10000
-- The number of ids that a refusal names.
relations.NAMED = 20

-- The prerequisites of a job; foreign programs may write either field, or different lists into both.
function relations.prerequisites_of(prerequisites, dependencies)
  if not dependencies or dependencies == prerequisites then return values.listed(prerequisites) end
  return values.listed((prerequisites or '') .. dependencies)
end

-- The maximum size of a foreign program's text that is read for ids, bytes.
local LONGEST_LIST = 262144

-- The same for a foreign job. Nil: one of the fields is there and is no JSON list of texts, so its prerequisites are
-- unknown.
function relations.foreign_prerequisites(prerequisites, dependencies)
  for _, text in ipairs({ prerequisites or '', dependencies or '' }) do
    local is_empty = string.find(text, '^%s*$') or string.find(text, '^%s*null%s*$') or string.find(text, '^%s*[%[{]%s*[%]}]%s*$')
    if not is_empty then
      local readable, found = pcall(cjson.decode, #text <= LONGEST_LIST and text or '')
      if not readable or type(found) ~= 'table' then return nil end
      for at, id in pairs(found) do
        if type(at) ~= 'number' or type(id) ~= 'string' then return nil end
      end
    end
  end
  return relations.prerequisites_of(prerequisites, dependencies)
end

-- Adds a prerequisite to the hash of a job, where readers of the job find it.
local function add_prerequisite(id, other)
  local key = keys.job(id)
  local longest = math.max(try('HSTRLEN', key, 'prerequisites') or 0, try('HSTRLEN', key, 'dependencies') or 0)
  if longest > 39 * MOST_IN_TEXT then
    redis.call('HSET', key, 'prerequisite:' .. other, commands.increase(key, 'more_prerequisites', 1))
    return
  end
  local prerequisites, dependencies = unpack(redis.call('HMGET', key, 'prerequisites', 'dependencies'))
  local text = prerequisites and prerequisites ~= '[]' and prerequisites or dependencies or '[]'
  -- Otherwise a foreign program wrote it, or it is missing.
  if string.sub(text, -2) ~= '"]' then text = '["' .. table.concat(values.listed(text), '","') .. '"]' end
  text = text == '[""]' and '["' .. other .. '"]' or string.sub(text, 1, -2) .. ',"' .. other .. '"]'
  redis.call('HSET', key, 'prerequisites', text, 'dependencies', text)
end

-- The prerequisites that were added beside the text.
function relations.added_prerequisites(id)
  local others = {}
  for _, field in ipairs(redis.call('HKEYS', keys.job(id))) do others[#others + 1] = string.match(field, '^prerequisite:(.+)$') end
  return others
end

-- True if a job that is gone left relatives behind. If a foreign program deleted its hash, their release has not begun,
-- and begins now.
function relations.left_behind(id)
  local lists = redis.call('EXISTS', keys.relatives(id, 'dependents'), keys.relatives(id, 'children'), keys.relatives(id, 'active'),
    keys.relatives(id, 'onComplete'))
  if lists > 0 then ends.release(id, 'deleted', '-') end
  return lists > 0
end

-- True if a job and all its descendants have ended. A job that is gone has ended, too, and a key of another type is no
-- job.
function relations.is_closed(id)
  local status = jobs.status(id)
  if not status and redis.call('TYPE', keys.job(id)).ok == 'hash' then return false end
  local has_ended = not status or values.is_final(status)
  return has_ended and redis.call('EXISTS', keys.relatives(id, 'children'), keys.relatives(id, 'active')) == 0
end

-- Watches a job whose end others wait for: foreign actors do not report the end of a job, and their jobs may never have
-- been seen here.
local function watch_end_of(id, status)
  if values.is_waiting(status) then return end
  local due = request.now + queues.FOREIGN_PAUSE
  if try('ZSCORE', keys.leases, id) or insist('ZADD', keys.watched, 'NX', due, id) == 0 then return end
  redis.call('HSET', keys.job(id), 'unseen', '1')
end

-- The field of a job that names the list of another job that contains it. A later job with the same id has no such
-- field, so that it is not released for the earlier one.
function relations.field_of(what, other) return 'waits:' .. what .. ':' .. other end

-- Adds a job to a list of another one. Further fields are set together with the one that names the list.
local function enter_list(id, what, other, ...)
  insist('RPUSH', keys.relatives(other, what), id)
  redis.call('HSET', keys.job(id), relations.field_of(what, other), '1', ...)
end

-- Notes that a job has relatives, which its end releases.
local function note_relatives(of) try('HSETNX', keys.job(of), 'rel', '-') end

-- Notes that staged jobs wait for a job: after its end it is kept until they are linked.
function relations.keep_for_staged(of)
  note_relatives(of)
  try('HSETNX', keys.job(of), 'staged_for', '1')
end

-- Notes that a job was taken from a list. False: it was not there itself, but an earlier job with its id was.
function relations.leave_list(id, what, other) return try('HDEL', keys.job(id), relations.field_of(what, other)) == 1 end

-- Makes a job wait until others have finished. Returns the number of those that have not, and one that ended in error.
function relations.link_prerequisites(id, others)
  local open, failed = 0, nil
  for _, other in ipairs(others) do
    local status = jobs.status(other)
    -- An end by a foreign actor counts once it is settled, because a retry may follow.
    if status == 'error' and not jobs.is_unsettled(other) then
      failed = failed or other
    elseif status ~= 'finished' then
      enter_list(id, 'dependents', other)
      note_relatives(other)
      watch_end_of(other, status)
      open = open + 1
    end
  end
  return open, failed
end

-- Makes a job wait until another one and all its descendants have ended. Returns 1 if they have not.
function relations.link_predecessor(id, other)
  if relations.is_closed(other) then return 0 end
  enter_list(id, 'onComplete', other)
  -- A deleted job is about to release the jobs in its lists, and gets no hash again.
  if not jobs.exists(other) then return 1 end
  note_relatives(other)
  local status = jobs.status(other)
  if not values.is_final(status) then watch_end_of(other, status) end
  return 1
end

-- Adds new jobs, whose hashes say so already, to a list of another job with this status and `rel`. If the event that
-- they wait for has happened already, the other job is released once more.
function relations.enter_all(ids, what, other, status, rel)
  insist('RPUSH', keys.relatives(other, what), unpack(ids))
  if not rel then note_relatives(other) end
  if values.is_final(status) and not jobs.is_unsettled(other) then
    if what == 'dependents' or relations.is_closed(other) then ends.release(other, status, '-') end
  else
    watch_end_of(other, status)
  end
end

-- Makes a starting job the child of another. Returns 1 if it has to wait until the parent's script has returned.
function relations.link_parent(id, parent)
  if parent == id or not jobs.is_job(parent) then return 0 end
  local status = jobs.status(parent)
  redis.call('HSET', keys.job(id), 'rel', parent)
  if values.is_final(status) then
    note_relatives(parent)
    insist('SADD', keys.relatives(parent, 'active'), id)
    -- The parent is kept until its children have ended.
    redis.call('PERSIST', keys.job(parent))
    return 0
  end
  enter_list(id, 'children', parent)
  note_relatives(parent)
  watch_end_of(parent, status)
  return 1
end

-- The number of lists from which a job is removed. Entries in other lists are skipped when their turn comes.
local MOST_LISTS = 4000
-- The number of elements of these lists that are searched in all.
local SEARCHED = 100000

-- Removes a job that does not wait any more from the lists of the jobs it waited for. Returns the fields that name
-- these lists: without them, no list releases the job again.
function relations.unlink(id)
  local key, left, fields = keys.job(id), SEARCHED, {}
  for _, field in ipairs(try('HKEYS', key) or {}) do
    local what, other = string.match(field, '^waits:(%a+):(.+)$')
    if what then
      fields[#fields + 1] = field
      local length = #fields <= MOST_LISTS and try('LLEN', keys.relatives(other, what)) or math.huge
      if length <= left then
        left = left - length
        try('LREM', keys.relatives(other, what), 1, id)
      end
    end
  end
  return fields
end

-- A refusal that names the missing ones among jobs that a new job names, or nil.
local function missing(param, others, given)
  local ids = {}
  for _, other in ipairs(others) do
    if not given[other] and #ids < relations.NAMED and not jobs.is_job(other) then ids[#ids + 1] = other end
  end
  return #ids > 0 and { 'no', param, unpack(ids) } or nil
end

local read_dependent = jobs.reader('status', 'attempt', 'more_prerequisites')

-- Why a job cannot have the relations it names, or nil. `given`: the jobs that are stored together with it.
function relations.refuse(id, of, given)
  for _, others in ipairs({ of.prerequisite, of.dependent, { of.parent }, { of.predecessor } }) do
    for _, other in ipairs(others) do
      if other == id then return { 'cycle', id } end
    end
  end
  local refused = missing('prerequisites', of.prerequisite, given) or missing('parent_id', { of.parent }, given)
    or missing('predecessor_id', { of.predecessor }, given) or missing('dependents', of.dependent, given)
  if refused then return refused end
  for _, other in ipairs(of.dependent) do
    if not given[other] then
      local job = read_dependent(other) or {}
      local waits = values.is_waiting(job.status) and (job.status ~= 'scheduled' or (tonumber(job.attempt) or 0) == 0)
      if not waits then return { 'late', other, job.status or 'dispatched' } end
      if (tonumber(job.more_prerequisites) or 0) >= MOST_ADDED then return { 'crowded', other } end
    end
  end
end

-- Links a new job to the jobs it waits for and to those that wait for it. Returns the number of jobs it waits for, and
-- a prerequisite that ended in error.
local function relate(id, of)
  local open, failed = relations.link_prerequisites(id, of.prerequisite)
  if of.predecessor then open = open + relations.link_predecessor(id, of.predecessor) end
  for _, other in ipairs(of.dependent) do
    -- It may be held already for a staged job with this id, and waits for this one now.
    if try('HEXISTS', keys.job(other), relations.field_of('dependents', id)) ~= 1 then
      add_prerequisite(other, id)
      commands.increase(keys.job(other), 'open', 1)
    end
    enter_list(other, 'dependents', id, 'linked', '1')
    note_relatives(id)
  end
  return open, failed
end

-- A revision of the relations between existing jobs: if it is the same, a caller that followed them in several calls
-- has missed nothing. It changes with everything that may close a cycle: a job that others lead to and that waits for
-- others.
function relations.revision() return try('HGET', keys.revisions, 'relations') or '0' end

function relations.note_change() coordinator.changed('relations') end

-- Makes a job that has not begun wait for a job of a staged group. False: it waits for a job of another group with that
-- id.
function relations.hold(id, other, group)
  local key = keys.job(id)
  if redis.call('HSETNX', key, relations.field_of('dependents', other), group) == 0 then return false end
  redis.call('HSET', key, 'prerequisite:' .. other, commands.increase(key, 'more_prerequisites', 1), 'linked', '1')
  commands.increase(key, 'open', 1)
  return true
end

-- Reverts `relations.hold`.
function relations.let_go(id, other, group)
  local key = keys.job(id)
  if try('HGET', key, relations.field_of('dependents', other)) ~= group then return end
  relations.leave_list(id, 'dependents', other)
  redis.call('HDEL', key, 'prerequisite:' .. other)
  commands.increase(key, 'more_prerequisites', -1)
  request.has_work(relations.unblock(id))
end

-- The message of a job that ends because another one, its prerequisite or parent, ended in error or, by its status, was
-- deleted before its end.
function relations.told_of(what, other, status)
  return what .. ' ' .. other .. (status == 'deleted' and ' was deleted' or ' ended in error')
end

local read_open = jobs.reader('status', 'open', 'script_type', 'group', 'instance', 'priority', 'attempt')

-- Counts down the jobs that a job waits for. Returns its script type and queue if it waits for none any more.
function relations.unblock(id)
  local job = read_open(id)
  if not job or not job.open then return end
  local open = try('HINCRBY', keys.job(id), 'open', -1)
  if job.status == 'waiting_for_prerequisites' and (open or 0) <= 0 then
    local script_type = job.script_type or jobs.DEFAULT_TYPE
    local queue = keys.work(script_type, job.group, job.instance, job.priority)
    return script_type, select(2, routing.begin(id, job.attempt or 0, script_type, queue, nil, 0))
  end
end

local read_waiting = jobs.end_reader('status', 'attempt')

-- Ends a job that waits for something that will not come; its error is of this kind.
function relations.give_up(id, text, kind)
  local job = read_waiting(id)
  if not job or not values.is_waiting(job.status) then return end
  try('ZREM', keys.scheduled, id)
  ends.fail(id, job.attempt or 0, kind or 'prerequisite', text, job)
end

-- The end of a waiting job of a flow whose other jobs are stopped does not depend on which comes first, the flow or the
-- end of its prerequisite. If the prerequisite failed by itself, or never ran, that is the reason why the job never
-- ran; if it was stopped with the flow, the job is stopped, too.

-- The message of a job that waits for another one that failed without being stopped; nil: there is none. And the number
-- of jobs that were read.
function relations.failure_before(id)
  local key, looked = keys.job(id), 0
  local prerequisites, dependencies = unpack(try('HMGET', key, 'prerequisites', 'dependencies') or {}, 1, 2)
  for _, other in ipairs(relations.prerequisites_of(prerequisites, dependencies)) do
    looked = looked + 1
    local status, kind = unpack(try('HMGET', keys.job(other), 'status', 'error_kind') or {}, 1, 2)
    if status == 'error' and kind ~= 'stopped' and not jobs.is_unsettled(other) then
      return relations.told_of('prerequisite', other), looked
    end
  end
  return nil, looked
end

-- True if a stopped job, for which another one waits, was stopped with the flow of both.
function relations.is_stopped_with(id, other)
  local kind, flow = unpack(try('HMGET', keys.job(other), 'error_kind', 'flow') or {}, 1, 2)
  return kind == 'stopped' and flow and flows.has(flow, id) and try('HGET', keys.flow(flow), 'failing') == '1'
end

-- Links a job that is being stored to the jobs that it names. A job that is to be started comes with { script type,
-- queue, due time } and is put on its way; otherwise it is kept until a time. Returns its status.
function relations.link(id, of, start, given_up)
  local open, failed = relate(id, of)
  if start and of.parent then open = open + relations.link_parent(id, of.parent) end
  redis.call('HSET', keys.job(id), 'open', open, 'linked', '1')
  if failed then
    relations.give_up(id, relations.told_of('prerequisite', failed))
    return 'error'
  elseif start then
    return routing.begin(id, 0, start.script_type, start.queue, start.due, open)
  end
  insist('ZADD', keys.scheduled, given_up, id)
  news.event(id, 'created', 0)
  return 'created'
end

return relations
