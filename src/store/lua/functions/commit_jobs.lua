-- Flags:
-- Creates jobs together that were staged (create.lua), all or none. What takes long was done before, or is done after it: here a job is
-- renamed. Those that wait for others are entered there by link_jobs.lua, or by the releaser where nobody does that. Everything is checked
-- before anything is written. That those outside of the group are there was checked before, too: one that is deleted meanwhile counts as
-- deleted after this call.
-- ARGV  group · so long they are kept if nobody starts them, ms · 'look' (memory may be short) or '-'
--       · the most that may be created in a second, or 0
--       · ids, with a space between each two, in the order of their places from 1 · for each a letter: 'n' (nobody else can have the id),
--         'o' (others may), 'u' (others may, and an earlier one left something for readers), '-' (it is none of these)
--       · number of script types, each: type · how many jobs of it
--       · list of the places of jobs with an idempotency key · for each, one after the other, the digest of caller and key
--       · the same of the parameters · number of texts of who waits for whom (links.lua) · text …
-- Gives {'stored', then for each that is none of the new: its place, id and status} · {'refused', place, why …} as create.lua says it
-- · {'slow', ms} · {'closed'} · {'gone'} (what was staged is not there any more, or many of the keys stand for other jobs by now: they may
-- be staged anew).
local try, insist = commands.try, commands.insist

-- How many keys or ids one command is given.
local AT_ONCE = 1000
-- How long an id is, and a digest.
local ID, DIGEST = 36, 64
-- So many idempotency keys may stand for other jobs than when they were staged.
local MOST_CHANGED = 64
-- Others count as listed when they were staged, if that is not longer ago, ms.
local NEAR = 1000

local read_known = jobs.reader('status', 'caller_id', 'idempotency_key')

-- Places as texts: Redis takes long to write a number of Lua's.
local PLACES = {}
for place = 1, 1000 do PLACES[place] = tostring(place) end

-- How many of some keys exist.
local function count(all)
  local there = 0
  for first = 1, #all, AT_ONCE do there = there + redis.call('EXISTS', unpack(all, first, math.min(first + AT_ONCE - 1, #all))) end
  return there
end

-- Calls something with some ids, as often as it takes.
local function each_part(list, call)
  for first = 1, #list, AT_ONCE do call(unpack(list, first, math.min(first + AT_ONCE - 1, #list))) end
end

-- Reads the jobs from the arguments: lists of their places, their ids, their letters and where they are staged.
local function take_jobs(group)
  local text, letters, prefix = request.take(), request.take(), keys.staged(group, '')
  local all = { places = {}, ids = {}, letters = {}, staged = {} }
  local many, places, ids, of, staged = 0, all.places, all.ids, all.letters, all.staged
  for place = 1, #letters do
    local letter, from = string.sub(letters, place, place), (place - 1) * (ID + 1) + 1
    if letter ~= '-' then
      many = many + 1
      places[many], ids[many], of[many] = place, string.sub(text, from, from + ID - 1), letter
      staged[many] = prefix .. (PLACES[place] or place)
    end
  end
  return all
end

local function take_types()
  local many_of = {}
  for _ = 1, request.take_number() do
    local script_type = request.take()
    many_of[script_type] = request.take_number()
  end
  return many_of
end

-- The job that an idempotency key stands for by now, as create.lua answers it, or nil.
local function find_known(staged, keyed)
  local known_id, digest = unpack(try('HMGET', keyed.key, 'job', 'digest') or {}, 1, 2)
  local known = known_id and read_known(known_id)
  local caller, key = unpack(redis.call('HMGET', staged, 'caller_id', 'idempotency_key'))
  if not (known and known.status and known.caller_id == caller and known.idempotency_key == key) then return nil end
  if digest ~= keyed.digest then return { 'reused', known_id } end
  return { 'same', known_id, known.status }
end

-- Reads the idempotency keys from the arguments. Gives those that do not stand for the jobs that were staged with them, because another
-- call has used them since, by the places of those: for other jobs, with other parameters, or for the same that it created already, where
-- some have ids that others have (`is_taken`). Nil: they are many.
local function take_keyed(all, is_taken)
  local places, digests, of_params = request.take_list(), request.take(), request.take()
  local changed, many, at, prefix = {}, 0, 1, keys.idempotency('')
  for nth, place in ipairs(places) do
    local from, to = (nth - 1) * DIGEST + 1, nth * DIGEST
    local key = prefix .. string.sub(digests, from, to)
    place = tonumber(place)
    while at <= #all.ids and all.places[at] ~= place do at = at + 1 end
    local id, digest = all.ids[at], string.sub(of_params, from, to)
    -- Where it is of another type, it does not.
    local known = redis.pcall('HMGET', key, 'job', 'digest')
    if known[1] ~= id or known[2] ~= digest or is_taken and all.letters[at] ~= 'n' and jobs.exists(id) then
      changed[place], many = { key = key, digest = digest }, many + 1
    end
  end
  return many <= MOST_CHANGED and changed or nil
end

-- Which of those stand for other jobs by now, and the first that refuses all.
local function find_same(group, changed)
  local same = {}
  for place, one in pairs(changed) do
    local known = find_known(keys.staged(group, place), one)
    if known and known[1] == 'reused' then return same, { 'refused', place, unpack(known) } end
    same[place] = known
  end
  return same
end

-- Whether others have ids of these jobs.
local function are_taken(all)
  local others = {}
  for at, id in ipairs(all.ids) do
    if all.letters[at] ~= 'n' then others[#others + 1] = keys.job(id) end
  end
  return count(others) > 0
end

-- The first of some jobs whose id another one has, as an answer. Those that stand for the same are not asked for another one.
local function taken(all, same)
  for at, id in ipairs(all.ids) do
    if all.letters[at] ~= 'n' and not same[all.places[at]] and jobs.exists(id) then
      return { 'refused', all.places[at], 'exists', jobs.status(id) or '' }
    end
  end
end

-- Has those entered who wait for others, after this call.
local function link()
  local lines, first = request.take_number(), request.at + 1
  request.at = request.at + lines
  for at = first, request.at, AT_ONCE do
    insist('RPUSH', keys.linking, unpack(request.argv, at, math.min(at + AT_ONCE - 1, request.at)))
  end
end

-- Notes how far the times of these jobs are behind those of the index, if that is more than lists look around for.
local function note_time(staged_at)
  local behind = request.now - (time.millis(staged_at) or request.now)
  if behind > NEAR then foreign.note_offset(keys.index(request.now_text), -behind) end
end

-- Has what was staged be jobs. Gives their ids.
local function create(all, same, changed)
  local created, prefix = {}, keys.job_prefix
  for at, id in ipairs(all.ids) do
    local place = all.places[at]
    if not same[place] then
      local key, staged, one = prefix .. id, all.staged[at], changed[place]
      if all.letters[at] == 'u' then jobs.clear_leftovers(id) end
      redis.call('RENAME', staged, key)
      redis.call('PERSIST', key)
      if one then
        insist('HSET', one.key, 'job', id, 'digest', one.digest)
        redis.call('EXPIRE', one.key, jobs.IDEMPOTENCY_SECONDS)
      end
      created[#created + 1] = id
    end
  end
  return created
end

-- Has the jobs looked after that are about to be created, and takes those away that others stand for. Gives how many there are, and what
-- is answered.
local function prepare(all, same, many_of, given_up)
  local answer, entries = { 'stored' }, {}
  for at, id in ipairs(all.ids) do
    local place = all.places[at]
    local known = same[place]
    if known then
      answer[#answer + 1], answer[#answer + 2], answer[#answer + 3] = place, known[2], known[3]
      local script_type = redis.call('HGET', all.staged[at], 'script_type')
      many_of[script_type] = many_of[script_type] - 1
      redis.call('UNLINK', all.staged[at])
    else
      entries[#entries + 1], entries[#entries + 2] = given_up, id
    end
  end
  each_part(entries, function(...) insist('ZADD', keys.scheduled, ...) end)
  return answer
end

return function()
  local group, given_up, look, per_second = request.take(), request.digits_in(request.take()), request.take(), request.take_number()
  local full = look == 'look' and request.refuse_nearly_full()
  if full then return full end
  if access.is_closed() then return { 'closed' } end
  local all, many_of = take_jobs(group), take_types()
  local many = #all.ids
  if count(all.staged) < many then return { 'gone' } end
  local is_taken = are_taken(all)
  local changed = take_keyed(all, is_taken)
  if not changed then return { 'gone' } end
  local same, refused = find_same(group, changed)
  refused = refused or is_taken and taken(all, same)
  if refused then return refused end
  for _ in pairs(same) do many = many - 1 end
  local slow = many > 0 and limit.too_fast(per_second, many)
  if slow then return slow end

  limit.note_created(per_second, many)
  local staged_at = redis.call('HGET', all.staged[1], 'created_at')
  local answer = prepare(all, same, many_of, given_up)
  local ids = create(all, same, changed)
  link()
  if many > 0 then
    local index = keys.index(request.now_text)
    each_part(ids, function(...) jobs.list_in(index, ...) end)
    note_time(staged_at)
    news.created_together(ids)
  end
  for script_type, number in pairs(many_of) do
    if number > 0 then news.count(script_type, 'created', number) end
  end
  news.send_all()
  return answer
end
