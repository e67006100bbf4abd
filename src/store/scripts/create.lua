-- Creates jobs, and starts those that are to be started: into their queue, or with an actor of this server that has room.
-- ARGV  9 queue length limit   10 so long a job that is not started is kept, ms   11 lease, ms
--       12 words: 'all' (all jobs or none) · 'twins' (some go to a second queue, too) · 'look' (memory may be short)   13 number of pools with room, each: script type · number of its queues · queue …
--       then number of jobs, each:
--       id · 'new' (nobody else can have it) or '' · 'start' or '' · actor that has room, or '' · due time, ms, or '' · script type · work queue · digest of caller and idempotency key, or ''
--       · digest of the parameters · number of relations, each: 'prerequisite', 'dependent', 'parent' or 'predecessor' · id
--       · number of fields and values · field · value …
--       and last: the most jobs that may run in the context, or 0 · the slots that jobs are for, as in slot.lua
-- Gives for each job {'created', status, and if that is 'started' the time, ms} · {'exists', status} (id taken) · {'same', id, status} (idempotency key seen)
-- · {'reused', id} (idempotency key seen with other parameters) · {'full', length} · {'no', parameter, id …} (there are no such jobs)
-- · {'late', id, status} (that dependent has begun) · {'crowded', id} (that dependent waits for as many as it may) · {'leaving'} (a job that had the
-- id is gone, its relatives are still to be released) · {'cycle', id …} (it would wait for itself, through these jobs) · {'tangled'} (too many
-- relations to follow) · {'again'} (too many with those of the jobs before it: the call after this one may have room, and has if it is the first there)
-- · {'none'} (another one of all is refused) · {'fired'} (another server was first with the slot) · {'skipped'} (the slot is left out).
-- Last, if relations were followed: {'followed', number}.
-- Seldom: clear_leftovers, left_behind, refuse, find_cycle, link, refuse_slot, note_slot, waiting_in, watch_all, twin_of
local limit, given_up, lease_until, all, at = tonumber(ARGV[9]), now + ARGV[10], now + ARGV[11], string.find(ARGV[12], 'all') ~= nil, 13
if string.find(ARGV[12], 'look') and is_nearly_full() then
  return redis.error_reply('OOM Redis uses more than 90% of its memory; what is left is for the ends of jobs')
end
local answers, created, slots, followed = {}, {}, slots_in(ARGV[#ARGV]), 0

-- Whether nobody waits for the actors of a type who would be overtaken. While any queue is paused or sorted, jobs go through theirs.
local nobody_waits = {}
for _ = 1, tonumber(ARGV[13]) do
  local script_type, queues = ARGV[at + 1], tonumber(ARGV[at + 2])
  nobody_waits[script_type] = nobody_waits[script_type] ~= false and redis.call('EXISTS', fair_key, paused_key, unpack(ARGV, at + 3, at + 2 + queues)) == 0
  at = at + 2 + queues
end
-- Whoever asked so long ago would not know what was started for him.
local LATE = 5500
local room = tonumber(ARGV[13]) > 0 and delay <= LATE and room_at_once(tonumber(ARGV[#ARGV - 1])) or 0
local jobs = tonumber(ARGV[at + 1])
at = at + 1

-- Jobs of one queue go into it together, at the end.
local lengths, pushed = {}, {}

local function length_of(queue)
  if not lengths[queue] then lengths[queue] = waiting_in(queue) or limit end -- A key that is no list takes nothing.
  return lengths[queue]
end

-- Jobs of this call that are not stored yet, when all are or none is.
local given = {}

-- The relations of the job whose arguments stand behind a place, or nil.
local function relations_at(place)
  local number = tonumber(ARGV[place + 10])
  if number == 0 then return nil, place + 11 end
  local of = { prerequisite = {}, dependent = {} }
  for at = place + 11, place + 9 + 2 * number, 2 do
    local kind, id = ARGV[at], ARGV[at + 1]
    if of[kind] then of[kind][#of[kind] + 1] = id else of[kind] = id end
  end
  return of, place + 11 + 2 * number
end

-- Ids of which an earlier job left something for readers.
local used_before = {}

-- Why a job cannot be stored, or nil.
local function check(place, of)
  local id, idempotency = ARGV[place + 1], ARGV[place + 8]
  if idempotency ~= '' then
    local known = try('HMGET', idempotency_key(idempotency), 'job', 'digest') or {}
    local job, own = known[1] and try('HMGET', job_prefix .. known[1], 'status', 'caller_id', 'idempotency_key'), {}
    local _, fields = relations_at(place)
    for at = fields + 1, fields + tonumber(ARGV[fields]), 2 do own[ARGV[at]] = ARGV[at + 1] end
    -- Another job may have that id by now: what counts is the one that this caller made with this key.
    if job and job[1] and job[2] == own.caller_id and job[3] == own.idempotency_key then
      if known[2] ~= ARGV[place + 9] then return { 'reused', known[1] } end
      return { 'same', known[1], job[1] }
    end
  end
  local key = job_prefix .. id
  -- One look at all that a job of this id may have left, which is nothing nearly always.
  if ARGV[place + 2] == '' and redis.call('EXISTS', key, reply_prefix .. id, legacy_reply_key(id), log_key(id), rel_key(id, 'dependents'),
    rel_key(id, 'children'), rel_key(id, 'active'), rel_key(id, 'onComplete')) > 0 then
    if redis.call('EXISTS', key) == 1 then return { 'exists', try('HGET', key, 'status') or '' } end
    if left_behind(id) then return { 'leaving' } end
    used_before[id] = true
  end
  return of and refuse(id, of, given)
end

-- That there is no room for a job, or nil and the status it gets first, with its place taken. Asked last, so that no job takes one that is refused.
local function take_place(place)
  local start, actor, due, script_type = ARGV[place + 3], ARGV[place + 4], ARGV[place + 5], ARGV[place + 6]
  if start ~= 'start' then return nil, 'created' end
  if due ~= '' and tonumber(due) > now then return nil, 'scheduled' end
  if actor ~= '' and nobody_waits[script_type] and room > 0 then
    room = room - 1
    return nil, 'started'
  end
  nobody_waits[script_type] = false
  local length = length_of(ARGV[place + 7])
  if length >= limit then return { 'full', length } end
  lengths[ARGV[place + 7]] = length + 1
  return nil, 'dispatched'
end

local function hset(place, status, ...)
  local id = ARGV[place + 1]
  if ARGV[place + 2] == '' then
    if used_before[id] then clear_leftovers(id) end
    redis.call('HSET', job_prefix .. id, 'id', id, 'status', status, 'created_at', now_text, 'updated_at', now_text, 'given_back', first_claim(), ...)
  else
    redis.call('HSET', job_prefix .. id, 'id', id, 'status', status, 'created_at', now_text, 'updated_at', now_text, ...)
  end
end

local function store(place, status, of, first, last)
  local id, start, script_type, queue, idempotency = ARGV[place + 1], ARGV[place + 3], ARGV[place + 6], ARGV[place + 7], ARGV[place + 8]
  local attempt = 0
  if of then
    hset(place, 'created', unpack(ARGV, first, last))
    status = link(id, of, start == 'start' and { script_type, queue, tonumber(ARGV[place + 5]) }, given_up)
  elseif status == 'started' then
    attempt = 1
    -- The lease first: a started job without one would be found by nobody.
    insist('ZADD', leases_key, lease_until, id)
    hset(place, status, 'started_at', now_text, 'attempt', attempt, 'lease', server, 'actor', ARGV[place + 4], unpack(ARGV, first, last))
    event(id, 'dispatched', 0)
    count(script_type, 'dispatched')
    count(script_type, 'started')
  else
    if status == 'dispatched' then
      -- Says that it was meant for a queue of ours, so that whoever finds it in none pushes it again.
      hset(place, status, 'queued_at', now_text, unpack(ARGV, first, last))
      local ids = pushed[queue]
      if not ids then
        ids = { script_type = script_type }
        pushed[queue] = ids
      end
      ids[#ids + 1] = id
      count(script_type, 'dispatched')
    else
      hset(place, status, unpack(ARGV, first, last))
      insist('ZADD', scheduled_key, status == 'created' and given_up or ARGV[place + 5], id)
    end
  end
  if idempotency ~= '' then
    insist('HSET', idempotency_key(idempotency), 'job', id, 'digest', ARGV[place + 9])
    redis.call('EXPIRE', idempotency_key(idempotency), IDEMPOTENCY_SECONDS)
  end
  count(script_type, 'created')
  if not of then event(id, status, attempt) end
  created[#created + 1] = id
  return { 'created', status, status == 'started' and now or nil }
end

-- Checks all jobs before one is stored: only their relations among themselves need that.
local function store_all()
  local plan, refused = {}, false
  for job = 1, jobs do
    local of, fields = relations_at(at)
    plan[job] = { at, of, fields }
    given[ARGV[at + 1]] = of or { prerequisite = {}, dependent = {} }
    at = fields + tonumber(ARGV[fields])
  end
  for job, place in ipairs(plan) do
    answers[job] = check(place[1], place[2])
    if not answers[job] then answers[job], place[4] = take_place(place[1]) end
    refused = refused or answers[job] and answers[job][1] ~= 'same'
  end
  local walk = { left = MOST_FOLLOWED }
  local found = not refused and find_cycle(given, walk)
  followed = MOST_FOLLOWED - walk.left
  if found then
    refused = true
    local of_circle = {}
    for _, id in ipairs(found == true and {} or found) do of_circle[id] = true end
    for job, place in ipairs(plan) do
      if found == true then answers[job] = { 'tangled' } elseif of_circle[ARGV[place[1] + 1]] then answers[job] = { 'cycle', unpack(found) } end
    end
    -- A long circle is not named as a whole.
    if not next(answers) then answers[1] = { 'cycle', unpack(found) } end
  end
  for job, place in ipairs(plan) do
    -- Those that name it may be stored before it.
    if not refused and not answers[job] then redis.call('HSET', job_prefix .. ARGV[place[1] + 1], 'status', 'created') end
  end
  for job, place in ipairs(plan) do
    if refused then
      answers[job] = answers[job] or { 'none' }
    else
      answers[job] = answers[job] or store(place[1], place[4], place[2], place[3] + 1, place[3] + tonumber(ARGV[place[3]]))
    end
  end
end

-- What was followed for the jobs of this call, and how much may still be.
local walk, left_for_all = {}, MOST_FOLLOWED_IN_ALL

-- Why a job would wait for itself, or that nobody knows.
local function refuse_cycle(id, of)
  local waits, leads_here = of.predecessor or #of.prerequisite > 0, #of.dependent > 0
  -- A child that waits for nothing else closes no circle that was not there without it, nor does what waits for nothing.
  if not (of.parent and waits or leads_here and (of.parent or waits)) then
    -- From where the walk has been it may go on to this one now.
    if of.parent or leads_here then walk.done = nil end
    return
  end
  walk.left = math.min(left_for_all, MOST_FOLLOWED)
  local alone, before = walk.left == MOST_FOLLOWED, walk.left
  local found = find_cycle({ [id] = of }, walk)
  followed = followed + before - walk.left
  left_for_all = math.max(left_for_all - math.min(left_for_all, MOST_FOLLOWED) + walk.left, 0)
  if found == true then
    -- It may have stopped half way up.
    walk.climbed = nil
    return { alone and 'tangled' or 'again' }
  end
  return found and { 'cycle', unpack(found) }
end

if all then
  store_all()
else
  for job = 1, jobs do
    local of, fields = relations_at(at)
    local last, slot, answer, status = fields + tonumber(ARGV[fields]), slots[job], nil, nil
    if slot then answer = refuse_slot(slot) end
    answer = answer or check(at, of) or of and refuse_cycle(ARGV[at + 1], of) or nil
    if not answer then answer, status = take_place(at) end
    answers[job] = answer or store(at, status, of, fields + 1, last)
    if slot then note_slot(slot, ARGV[at + 1], answers[job]) end
    at = last
  end
end

for queue, ids in pairs(pushed) do
  if try('LPUSH', queue, unpack(ids)) == #ids then woken(queue, ids.script_type) end
  local twins = string.find(ARGV[12], 'twins') ~= nil
  watch_all(ids, ids.script_type, twins)
  for place = 1, twins and #ids or 0 do
    local twin, only = twin_of(ids[place])
    if twin and not only then try('LPUSH', twin, ids[place]) end
  end
end
if #created > 0 then list_in(index_key(now_text), unpack(created)) end
flush()
tell_own()
if followed > 0 then answers[#answers + 1] = { 'followed', math.ceil(followed) } end
return answers
