-- Prerequisites of jobs in the runner layout: names of such jobs (`job:{caller}:{n}`), or numbers of jobs of the same
-- caller, which may run anywhere. Nobody reports their ends, so each check looks at some of them, in rounds.
--
-- The hash of a waiting job has `waits_at`: the place in its prerequisites at which the next check continues, and
-- whether a prerequisite was open and whether one was missing in this round. `missing_at` is the time since when one of
-- them has no hash, ms.
local try = commands.try
local awaited = {}

-- The maximum number of prerequisites of a job, and the maximum size of the text that names them, bytes.
local MAX_PREREQUISITES, MAX_TEXT_BYTES = 1000, 65536
-- The number of prerequisites that a call checks, and that it follows to find a job that would wait for itself; the
-- number that a check looks at in one job at least, and where only few jobs wait.
local A_CALL, A_WALK, A_LOOK, WHERE_FEW = 1000, 2000, 64, 4096
-- The time between two checks of a waiting job, ms. Where very many jobs wait, they are checked as often as takes about
-- a tenth of the time: the time of each check, and of each prerequisite in it, ms.
local CHECK_INTERVAL_MILLIS, OF_A_LOOK, OF_EACH = 1000, 0.2, 0.03
-- The maximum time between two checks, ms. A job that seems to wait for longer was checked before the clock of Redis
-- was set back.
awaited.LONGEST_PAUSE = 60000
local ELEMENT = layouts.named.runner.element

local READ = { 'status', 'updated_at', 'timeout', 'flow', 'job_id', 'waits_at', 'missing_at' }
local named = values.naming(READ)

-- What a call may still check and follow.
function awaited.begin() return { left = A_CALL, walk = A_WALK } end

-- Reads the fields that decide whether a job may run. Other fields may be long, and are not read with each check. Nil:
-- the key is no hash.
function awaited.read(element)
  local list = try('HMGET', keys.prefix .. element, unpack(READ))
  return list and named(list)
end

-- The text that names the prerequisites of a job. Nil: it is too long.
local function list_of(element)
  local key = keys.prefix .. element
  if (try('HSTRLEN', key, 'prerequisites') or 0) > MAX_TEXT_BYTES then return nil end
  return try('HGET', key, 'prerequisites') or ''
end

-- Returns the name after a place in a list (a number names a job of that caller) and the place after it. Nil: there is
-- none.
local function name_at(list, at, element)
  local _, last, word = string.find(list, '([^%s%[%],"]+)', at)
  if not word then return nil end
  return string.find(word, '^%d+$') and string.match(element, '^job:%d+:') .. word or word, last + 1
end

-- Why a text is no valid list of prerequisites, or nil.
local function refuse(list, element)
  local many, at = 0, 1
  while true do
    local name, behind = name_at(list, at, element)
    if not name then return nil end
    many, at = many + 1, behind
    if many > MAX_PREREQUISITES then return 'it names more than ' .. MAX_PREREQUISITES .. ' prerequisites' end
    if #name > 128 or not string.find(name, ELEMENT) then
      return 'its prerequisites cannot be read: a JSON list of jobs such as "job:12:7" is expected'
    end
    if name == element then return 'it would wait for itself' end
  end
end

-- The jobs through which a job waits for itself. Nil: it does not. True: there are more than `call.walk` to follow.
local function circle_of(element, list, call)
  local seen, path = {}, {}
  local function visit(from, text)
    local at = 1
    while true do
      local name, behind = name_at(text, at, from)
      if not name then return nil end
      at = behind
      if name == element then return path end
      call.walk = call.walk - (seen[name] and 0.1 or 1)
      if call.walk < 0 then return true end
      if not seen[name] and #name <= 128 and string.find(name, ELEMENT) then
        seen[name] = true
        local status = try('HGET', keys.prefix .. name, 'status')
        -- A job that ends by itself because its list is too long blocks nobody.
        local others = status and not values.is_final(status) and list_of(name)
        path[#path + 1] = name
        local found = others and visit(name, others)
        if found then return found end
        path[#path] = nil
      end
    end
  end
  return visit(element, list)
end

-- Why a job can never run because of its prerequisites; nil: it can. False: this call has followed too much, and the
-- next one has to check.
local function check(element, list, call)
  local before = call.walk
  local found = circle_of(element, list, call)
  if found == true then
    if before < A_WALK then return false end
    return 'it has too many relations to tell whether it would wait for itself'
  end
  if not found then return nil end
  local last = math.min(#found, relations.NAMED)
  return 'it would wait for itself, through job ' .. table.concat(found, ', ', 1, last)
end

-- Makes the jobs that a job names as its dependents wait for it, unless somebody has taken them already.
local function have_wait(element)
  local key = keys.prefix .. element
  if (try('HSTRLEN', key, 'dependends') or 0) > MAX_TEXT_BYTES then return end
  local many = 0
  for number in string.gmatch(try('HGET', key, 'dependends') or '', '%d+') do
    local other = string.match(element, '^job:%d+:') .. number
    local theirs = keys.prefix .. other
    many = many + 1
    if many > MAX_PREREQUISITES or #number > 10 then return end
    local status = try('HGET', theirs, 'status')
    local waits = status == '' or status == 'dispatched' or status == 'waiting_for_prerequisites'
    if waits and other ~= element and not jobs.exists(layouts.id_of(theirs)) then
      local list = list_of(other)
      local known, at = list == nil, 1
      while not known do
        local name, behind = name_at(list, at, other)
        if not name then break end
        known, at = name == element, behind
      end
      local inside = not known and string.match(list, '^%s*%[(.-)%]%s*$') or ''
      if not known then
        redis.call('HSET', theirs, 'prerequisites', '["' .. element .. '"' .. (inside == '' and '' or ',' .. inside) .. ']')
        -- Its prerequisites are checked from the beginning.
        redis.call('HDEL', theirs, 'waits_at')
      end
    end
  end
end

-- Notes where the next check of a job continues, and that it waits.
local function note(element, job, waits_at, missing_at)
  if job.status == 'waiting_for_prerequisites' and job.waits_at == waits_at and (job.missing_at or nil) == missing_at then return end
  redis.call('HSET', keys.prefix .. element, 'status', 'waiting_for_prerequisites', 'updated_at', coordinator.seconds(),
    'waits_at', waits_at)
  if missing_at then
    redis.call('HSET', keys.prefix .. element, 'missing_at', missing_at)
  elseif job.missing_at then
    redis.call('HDEL', keys.prefix .. element, 'missing_at')
  end
end

-- Checks some prerequisites of a job that nobody has taken. `call` is the result of `awaited.begin`. Returns 'runs';
-- 'waits' and the time until the next check, ms; 'again' (this call has no room for it); or 'fails' and the reason.
function awaited.look(element, job, call)
  local list = list_of(element)
  if not list then return 'fails', 'its prerequisites have more than ' .. MAX_TEXT_BYTES .. ' bytes' end
  local is_new = not job.waits_at
  if is_new then
    have_wait(element)
    local wrong = refuse(list, element)
    if wrong then return 'fails', wrong end
  end
  if not name_at(list, 1, element) then return 'runs' end
  if call.left < 1 then return 'again' end
  local waiting = try('ZCARD', keys.unwritten) or 0
  local most = math.min(math.max(A_LOOK, math.floor(WHERE_FEW / (waiting + 1))), call.left)
  local at, open, missing = string.match(job.waits_at or '', '^(%d+) ([01]) ([01])$')
  at, open, missing = tonumber(at or 1), open == '1', missing == '1'
  local looked, not_there = 0, nil
  while looked < most do
    local name, behind = name_at(list, at, element)
    if not name then break end
    at, looked = behind, looked + 1
    local key = keys.prefix .. name
    local status = try('HGET', key, 'status')
    if status == 'error' then return 'fails', relations.told_of('prerequisite', name) end
    if status ~= 'finished' then
      open = true
      if not status and redis.call('TYPE', key).ok ~= 'hash' then not_there = not_there or name end
    end
  end
  call.left = call.left - looked
  missing = missing or not_there ~= nil
  local is_round = not name_at(list, at, element)
  if is_round and not open then return 'runs' end
  -- A time after now was written before the clock was set back, and starts anew.
  local since = values.number(job.missing_at or nil, nil)
  if since and since > request.now then since = nil end
  if not_there and since and request.now - since >= jobs.HASH_MILLIS then
    return 'fails', 'prerequisite ' .. not_there .. ' does not exist'
  end
  local is_found = since and is_round and not missing
  -- A prerequisite that was missing may lead back to this job.
  if is_new or is_found then
    local wrong = check(element, list, call)
    if wrong == false then return 'again' end
    if wrong then return 'fails', wrong end
  end
  since = not is_found and (since or missing and request.now) or nil
  note(element, job, is_round and '1 0 0' or at .. (open and ' 1' or ' 0') .. (missing and ' 1' or ' 0'), since and values.digits(since))
  local pause = math.max(CHECK_INTERVAL_MILLIS, math.floor(waiting * (OF_A_LOOK + OF_EACH * looked)))
  return 'waits', math.min(pause, awaited.LONGEST_PAUSE)
end

return awaited
