-- Flags:
-- Creates jobs, and starts those that are to be started: in their queue, or directly with an actor of this server that
-- has room.
-- ARGV  queue length limit · time for which a job that is not started is kept, ms · lease, ms
--       · list, with '-' for no: 'all' (all jobs or none) or 'stage' (they are only staged, to be created together with others:
--         commit_jobs.lua) · 'shadows' (some go to a second queue, too) · 'look' (memory may be short)
--       · list, 0 for no limit: maximum number of jobs that run in the context · maximum number of jobs created per second
--       · the occurrences of these jobs, as in schedules.lua; or for staged jobs a list: their group · number of its places
--         · the place of the first job in it · number of new or staged jobs except those with a key of this call and later ones
--         · 'followed' (others may lead to some) or '-'
--       · number of pools with room, each: script type · list of its queues
--       then number of jobs, each:
--       id · list, with '-' for no: script type · work queue · actor that has room · 'new' (nobody else can have the id)
--            · 'start' · 'waited' (this server waits for it) · 'due' (it has a time) · 'keyed' (it has an idempotency key) · 'related'
--            · 'returned' (its script ran already, in the actor that has room)
--       · 'due': the time, ms · 'keyed': digest of caller and idempotency key · digest of the parameters
--       · 'related': number of relations, each: 'prerequisite', 'dependent', 'parent' or 'predecessor' · id
--       · 'returned': output · format of the output · usage (JSON or '')
--       · number of fields and values other than those of every job · field · value …
-- Gives for each job {'staged', 'list id' for each job in whose list it need not wait …}
-- · {'created', status, and if that is 'started', or 'finished' after its script returned, the time, ms} · {'exists', status} (id taken)
-- · {'same', id, status} (idempotency key seen) · {'reused', id} (idempotency key seen with other parameters) · {'full', length}
-- · {'no', parameter, id …} (there are no such jobs) · {'late', id, status} (that dependent has begun)
-- · {'crowded', id} (that dependent waits for the maximum number of jobs)
-- · {'unreleased'} (a job that had the id is gone, its relatives are still to be released)
-- · {'gone'} (the staged jobs of the group are to be removed, or are missing)
-- · {'cycle', id …} (it would wait for itself, through these jobs) · {'tangled'} (too many relations to follow)
-- · {'again'} (too many with those of the jobs before it: the next call may have room, and has if it is the first job there)
-- · {'slow', ms} (time until there is room, as jobs per second are limited) · {'crowd'} (too many groups are being staged)
-- · {'memory'} (Redis is nearly full; jobs that exist already get their answers)
-- · {'none'} (another job of all is refused) · {'fired'} (another server fired the occurrence first) · {'skipped'} (it is skipped).
-- Last, if relations were followed: {'followed', number}.
local insist = commands.insist

-- The state of this call; each call sets it anew.
local limit_of_queue, given_up, lease_until, has_shadows, room, per_second
-- The answer for new jobs while Redis is nearly full, or nil.
local no_memory
local answers, created = {}, {}
-- The number of stored jobs of each script type, and the answers for each job that starts at once, or that ran already.
local created_of, answer_started, answer_finished = {}, nil, nil
-- By script type, whether no waiting job would be overtaken by a direct start.
local nobody_waits = {}
-- The length of each queue with the jobs of this call; and the jobs that this call pushes and starts, all together at
-- the end.
local lengths, to_push, starting = {}, {}, {}
-- Ids of former jobs that left something for readers.
local used_before = {}
-- Relations of jobs of this call that are not stored yet, if all are stored or none is.
local given = {}
-- The relations that were followed for the jobs of this call, their number, and the number that may still be followed.
local walk, followed, left_for_all

-- Reads the pools with room from the arguments. While any queue is paused or sorted, jobs go through their queues.
local function take_pools()
  local pools = request.take_number()
  for _ = 1, pools do
    local script_type, served = request.take(), request.take_list()
    nobody_waits[script_type] = nobody_waits[script_type] ~= false and redis.call('EXISTS', keys.fair, keys.paused, unpack(served)) == 0
  end
  return pools
end

-- The job of an idempotency key, as an answer, or nil.
local function find_known(job)
  links.show(keys.idempotency(job.idempotency))
  local own = {}
  for at = job.first, job.last, 2 do own[request.argv[at]] = request.argv[at + 1] end
  return keyed.job(job.idempotency, job.digest, own.caller_id or '', own.idempotency_key)
end

-- Why a job cannot be stored, or nil.
local function check(job)
  local found = job.idempotency and find_known(job)
  if found then return found end
  local id, key = job.id, keys.job(job.id)
  if not job.is_new then links.show(key) end
  -- One command for all keys that a job with this id may have left, which usually do not exist.
  if not job.is_new and redis.call('EXISTS', key, keys.reply(id), keys.legacy_reply(id), keys.log(id), keys.relatives(id, 'dependents'),
    keys.relatives(id, 'children'), keys.relatives(id, 'active'), keys.relatives(id, 'onComplete')) > 0 then
    if jobs.exists(id) then return { 'exists', jobs.status(id) or '' } end
    if relations.left_behind(id) then return { 'unreleased' } end
    used_before[id] = true
  end
  return job.relations and relations.refuse(id, job.relations, given)
end

local function length_of(queue)
  if not lengths[queue] then lengths[queue] = queues.waiting_in(queue) or math.huge end
  return lengths[queue]
end

-- The answer that there is no room for a job, or nil and its first status, with its place taken. This is the last
-- check, so that a refused job takes no place.
local function take_place(job)
  if not job.starts then return nil, 'created' end
  if job.due and job.due > request.now then return nil, 'scheduled' end
  if job.actor and nobody_waits[job.script_type] and room > 0 then
    room = room - 1
    return nil, job.output and 'finished' or 'started'
  end
  nobody_waits[job.script_type] = false
  local length = length_of(job.queue)
  if length >= limit_of_queue then return queues.full(length) end
  lengths[job.queue] = length + 1
  return nil, 'dispatched'
end

-- Notes a job that was written with this number of fields.
local function note(job, fields)
  if job.is_new then field_counts.keep_new(job.id, fields + job.written, request.argv, job.first, job.last) end
end

-- Returns the key for a job that may have the id of a former one, and removes the leftovers of that one.
local function clean_key(job)
  if used_before[job.id] then jobs.clear_leftovers(job.id) end
  return keys.job(job.id)
end

-- The fields of a waited job that the time for which it is kept depends on.
local WAITED = { reply = 'waited' }

-- Stores a job whose script ran already, with its result. The server that sends it tells its waiter.
local function store_returned(job)
  local now = request.now_text
  -- A job without the field `lease` would be taken for one that a foreign program wrote.
  redis.call('HSET', keys.job(job.id), 'status', 'finished', 'attempt', '1', 'lease', '', 'started_at', now, 'finished_at', now,
    'actor', job.actor, 'output', job.output, 'output_format', job.format, 'usage', job.usage, incoming.hash_of(job))
  redis.call('EXPIRE', keys.job(job.id), ends.seconds_kept('finished', WAITED))
  news.event_of_all(job.id)
  for _, what in ipairs({ 'dispatched', 'started', 'finished' }) do news.count(job.script_type, what) end
end

-- Stores a job where it goes on, and links its relations if it has any. Returns its status.
local function bring_on(job, status)
  local id = job.id
  if job.relations then
    redis.call('HSET', clean_key(job), 'status', 'created', incoming.hash_of(job))
    local start = job.starts and { script_type = job.script_type, queue = job.queue, due = job.due }
    return relations.link(id, job.relations, start, given_up)
  elseif status == 'started' then
    starting[#starting + 1] = job
  elseif status == 'finished' then
    store_returned(job)
  elseif status == 'dispatched' then
    -- The field `queued_at` says that it was meant for a queue of ours, so that it is pushed again if it is found in
    -- none.
    note(job, redis.call('HSET', clean_key(job), 'status', status, 'queued_at', request.now_text, incoming.hash_of(job)))
    queues.add(to_push, job.queue, job.script_type, id)
    -- A later job of this call may name it, and it must not look unwatched.
    if not job.is_new then queues.watch(id, job.script_type, has_shadows) end
    news.count(job.script_type, 'dispatched')
    news.event(id, status, '0')
  else
    local fields = redis.call('HSET', clean_key(job), 'status', status, incoming.hash_of(job))
    -- A scheduled job waits for long, and other notes would have to make room.
    if status == 'created' then note(job, fields) end
    if status == 'created' then insist('ZADD', keys.scheduled, given_up, id) else news.schedule(id, job.due) end
    news.event(id, status, 0)
  end
  return status
end

-- Stores the idempotency key of a job. While there is no such job, the key has no effect.
local function note_key(job)
  local key = keys.idempotency(job.idempotency)
  insist('HSET', key, 'job', job.id, 'digest', job.digest)
  redis.call('EXPIRE', key, jobs.IDEMPOTENCY_SECONDS)
end

-- Stores a job that passed all checks. Returns its answer.
local function store(job, status)
  status = bring_on(job, status)
  if job.idempotency then note_key(job) end
  created[#created + 1] = job.id
  created_of[job.script_type] = (created_of[job.script_type] or 0) + 1
  if status == 'started' then return answer_started end
  if status == 'finished' then return answer_finished end
  return { 'created', status }
end

-- Starts jobs for which actors of this server have room.
local function start_all()
  if #starting == 0 then return end
  local entries = {}
  for at, job in ipairs(starting) do entries[2 * at - 1], entries[2 * at] = lease_until, job.id end
  -- The leases first: a started job without one would be found by nobody.
  insist('ZADD', keys.leases, unpack(entries))
  local started_of = {}
  for _, job in ipairs(starting) do
    -- The fields that its end reads come first, because Redis searches the fields of a short hash in order.
    note(job, redis.call('HSET', keys.job(job.id), 'status', 'started', 'attempt', '1', 'lease', request.server,
      'started_at', request.now_text, 'actor', job.actor, incoming.hash_of(job)))
    news.event_of_both(job.id)
    started_of[job.script_type] = (started_of[job.script_type] or 0) + 1
  end
  for script_type, many in pairs(started_of) do
    news.count(script_type, 'dispatched', many)
    news.count(script_type, 'started', many)
  end
end

-- Sets the answers of jobs that would wait for each other, or that are part of too many relations to follow.
local function answer_cycle(plan, found)
  local of_cycle = {}
  for _, id in ipairs(found == true and {} or found) do of_cycle[id] = true end
  for place, job in ipairs(plan) do
    if found == true then answers[place] = { 'tangled' } elseif of_cycle[job.id] then answers[place] = { 'cycle', unpack(found) } end
  end
  -- A long cycle is not named as a whole.
  if not next(answers) then answers[1] = { 'cycle', unpack(found) } end
end

-- Checks all jobs before one is stored: only relations among themselves need that.
local function store_all(number)
  local plan, refused = {}, false
  for place = 1, number do
    local job = incoming.take()
    plan[place], given[job.id] = job, job.relations or { prerequisite = {}, dependent = {} }
  end
  local slow, some = no_memory or limit.too_fast(per_second, number), false
  for place, job in ipairs(plan) do
    local answer = check(job)
    if not answer then answer, some = slow, true end
    if not answer then answer, job.status = take_place(job) end
    -- An earlier job that is only created is started after this call, and has its place kept, too.
    if answer and answer[1] == 'same' and answer[3] == 'created' then answer = take_place(job) or answer end
    answers[place] = answer or nil
    refused = refused or answer and answer[1] ~= 'same'
  end
  walk.left = cycles.MOST_FOLLOWED
  local found = not refused and cycles.find(given, walk)
  followed = cycles.MOST_FOLLOWED - walk.left
  if found then
    refused = true
    answer_cycle(plan, found)
  end
  if some and not refused then limit.note_created(per_second, number) end
  -- Some existing jobs lead to these.
  if not refused and followed > 0 then relations.note_change() end
  for place, job in ipairs(plan) do
    -- A job that names it may be stored before it.
    if not refused and not answers[place] then job.written = redis.call('HSET', keys.job(job.id), 'status', 'created') end
  end
  for place, job in ipairs(plan) do
    if refused then answers[place] = answers[place] or { 'none' } else answers[place] = answers[place] or store(job, job.status) end
  end
end

-- Why a job would wait for itself, or the answer that it is unknown.
local function refuse_cycle(job)
  local id, of = job.id, job.relations
  local waits, leads_here = of.predecessor or #of.prerequisite > 0, #of.dependent > 0
  -- A child that waits for nothing else closes no new cycle, nor does a job that waits for nothing.
  if not (of.parent and waits or leads_here and (of.parent or waits)) then
    -- There may be a new way to this job from nodes that were followed.
    if of.parent or leads_here then walk.done = nil end
    return
  end
  walk.left = math.min(left_for_all, cycles.MOST_FOLLOWED)
  local alone, before = walk.left == cycles.MOST_FOLLOWED, walk.left
  local found = cycles.find({ [id] = of }, walk)
  followed = followed + before - walk.left
  left_for_all = math.max(left_for_all - math.min(left_for_all, cycles.MOST_FOLLOWED) + walk.left, 0)
  if found == true then
    -- It may have stopped half-way up.
    walk.climbed = nil
    return { alone and 'tangled' or 'again' }
  end
  job.is_followed = true
  return found and { 'cycle', unpack(found) }
end

local function store_each(number, occurrences)
  for place = 1, number do
    local job, occurrence, answer, status = incoming.take(), occurrences[place], nil, nil
    if occurrence then answer = schedules.refuse_occurrence(occurrence) end
    answer = answer or check(job) or no_memory or limit.too_fast(per_second, 1) or job.relations and refuse_cycle(job) or nil
    if not answer then answer, status = take_place(job) end
    answers[place] = answer or store(job, status)
    if not answer then limit.note_created(per_second, 1) end
    if not answer and job.is_followed then relations.note_change() end
    if occurrence then schedules.note_occurrence(occurrence, job.id, answers[place]) end
  end
end

-- Writes the hash of a job to a staging key. The hash names the jobs it waits for; it is linked to them when it is
-- created. A job that is to be started is never staged. The fields of jobs in its group name their relations already,
-- and jobs outside that are to wait for it are held later (hold_dependents.lua).
local function stage(job)
  local key, of, answer, open = job.staged, job.relations, { 'staged' }, 0
  local fields = redis.call('HSET', key, 'status', 'created', incoming.hash_of(job))
  redis.call('EXPIRE', key, links.STAGED_SECONDS)
  -- The key belongs to a job that is gone. The commit notices if another job has it by then.
  if job.idempotency then redis.call('UNLINK', keys.idempotency(job.idempotency)) end
  if not of then
    note(job, fields)
    return answer
  end
  local function wait_for(what, other, has_ended)
    if has_ended then
      answer[#answer + 1] = what .. ' ' .. other
    else
      redis.call('HSET', key, relations.field_of(what, other), '1')
      relations.keep_for_staged(other)
      open = open + 1
    end
  end
  for _, other in ipairs(of.prerequisite) do wait_for('dependents', other, jobs.status(other) == 'finished') end
  if of.predecessor then wait_for('onComplete', of.predecessor, relations.is_closed(of.predecessor)) end
  redis.call('HINCRBY', key, 'open', open)
  redis.call('HSET', key, 'linked', '1')
  return answer
end

-- A group that is more than may be created now is refused before this slice of it is written. commit_jobs.lua asks
-- again, and notes the created jobs.
local function stage_each(number, group, places, first, new, follows)
  local plan, lines, known, lacks_some = {}, {}, {}, false
  for place = 1, number do
    plan[place] = incoming.take()
    answers[place] = check(plan[place]) or nil
    lacks_some = lacks_some or not answers[place]
    if plan[place].idempotency and not answers[place] then new = new + 1 end
  end
  local refused = lacks_some and no_memory or new > 0 and limit.too_fast(per_second, new)
  if first == 1 and links.are_too_many() then refused = { 'crowd' } end
  if not refused and not links.keep(group, places, first == 1) then refused = { 'gone' } end
  if refused then
    answers = { refused }
    return
  end
  for place, job in ipairs(plan) do
    job.staged = keys.staged(group, first + place - 1)
    if not answers[place] then
      answers[place] = stage(job)
      local letter = job.is_new and (follows == 'followed' and 'r' or 'n') or used_before[job.id] and 'u' or 'o'
      local line = links.line(group, first + place - 1, job, letter, given_up)
      lines[#lines + 1] = line
      if letter ~= 'n' then known[#known + 1], known[#known + 2] = keys.job(job.id), line end
      if job.idempotency then known[#known + 1], known[#known + 2] = keys.idempotency(job.idempotency), line end
    end
  end
  if #lines == 0 then return end
  commands.increase(keys.group(group), 'many', #lines)
  if #known > 0 then insist('HSET', keys.group(group), unpack(known)) end
  insist('RPUSH', keys.lines(group), table.concat(lines, '\n'))
  redis.call('EXPIRE', keys.group(group), links.STAGED_SECONDS)
  redis.call('EXPIRE', keys.lines(group), links.STAGED_SECONDS)
end

return function()
  limit_of_queue, given_up, lease_until = request.take_number(), request.digits_in(request.take()), request.digits_in(request.take())
  local all, shadows, look = unpack(request.take_list(), 1, 3)
  local most_running, most_created = unpack(request.take_list(), 1, 2)
  local about = request.take()
  local occurrences = all == 'stage' and {} or schedules.occurrences_in(about)
  most_running, per_second = tonumber(most_running), tonumber(most_created)
  local closed = access.refuse_closed()
  if closed then return closed end
  no_memory = request.is_nearly_full(look) and { 'memory' } or nil
  has_shadows = shadows == 'shadows'
  local empty = request.empty
  answers, created, nobody_waits, lengths, to_push = {}, {}, empty(nobody_waits), empty(lengths), empty(to_push)
  created_of = empty(created_of)
  answer_started, answer_finished = { 'created', 'started', request.now }, { 'created', 'finished', request.now }
  starting, used_before, given = empty(starting), empty(used_before), empty(given)
  walk, followed, left_for_all = {}, 0, cycles.MOST_FOLLOWED_IN_ALL
  local pools = take_pools()
  room = pools > 0 and request.delay <= request.LATE and queues.room_at_once(most_running) or 0
  if all == 'stage' then
    local group, places, first, new, follows = string.match(about, '^(%S+) (%d+) (%d+) (%d+) (%S+)$')
    stage_each(request.take_number(), group, places, tonumber(first), tonumber(new), follows)
  elseif all == 'all' then store_all(request.take_number())
  else store_each(request.take_number(), occurrences)
  end
  start_all()
  queues.watch_all(to_push, has_shadows)
  queues.push_all(to_push, has_shadows)
  if #created > 0 then jobs.list_in(keys.index(request.now_text), unpack(created)) end
  for script_type, many in pairs(created_of) do news.count(script_type, 'created', many) end
  news.send_all()
  if followed > 0 then answers[#answers + 1] = { 'followed', math.ceil(followed) } end
  return answers
end
