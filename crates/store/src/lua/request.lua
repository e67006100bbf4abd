-- The current call: the arguments that every function gets, and the data that is gathered until its end.
-- ARGV  1 the server, a list: context · its id · seconds to keep a job: finished · error · finished, for a caller who waited · key prefix,
--         if there is one
--       2 now, ms, as the server believes, or '=' and ms where that counts (in tests)   3 the same as text
--       These are followed by the arguments of the function, which reads them one after the other. A list is one argument, with a space
--       between its entries.
local request = {
  -- The time of Redis, ms, and as text. No server's clock decides what has expired or what is written, so that times of
  -- a job by several servers are in order.
  now = 0, now_text = '',
  -- The time that this call was on its way, ms, or the delay of the server's clock.
  delay = 0,
  -- True if the time is that of a test.
  is_timed = false,
  server = '', keep_finished = '', keep_error = '', keep_waited = '',
  argv = {}, at = 0,
  -- Counters by script type, servers with waiters for jobs that ended and those jobs, jobs this server waits for
  -- itself: `news` reports them.
  counters = {}, notices = {}, own = {},
  -- The earliest time, ms, that this call has announced of each kind.
  announced = {},
  -- Script types that have work again, each once; the queues that this call reads after that, and whether work came to one of these.
  types = {}, types_seen = {}, read_now = {}, came_to_read = false,
  -- Whether a script type is native only, as far as this call has asked.
  native_only = {},
  -- The number of jobs whose relatives are to be released.
  releases = 0,
  -- True if this call has reported a change.
  has_events = false,
  -- The number of jobs of flows that it has handled beside its own task.
  of_flows = 0,
}

-- The number of arguments that every function gets.
request.COMMON = 3

-- The caller of a call that was sent this long ago, ms, does not wait for an answer any more, and would not learn of
-- the started jobs.
request.LATE = 5500

-- Returns the next argument.
function request.take()
  local at = request.at + 1
  request.at = at
  return request.argv[at]
end

function request.take_number()
  local at = request.at + 1
  request.at = at
  return tonumber(request.argv[at])
end

-- Lists of earlier calls by their texts, and the bytes that they take, about: a pool names its queues with each fetch.
local MOST_KEPT, OF_A_LIST = 2097152, 512
local lists, kept = {}, 0

-- The entries of a list. A function that calls another one passes a table.
local function list_in(text)
  if type(text) == 'table' then return text end
  local list = lists[text]
  if list then return list end
  if kept + #text + OF_A_LIST > MOST_KEPT then lists, kept = {}, 0 end
  list = {}
  for entry in string.gmatch(text, '%S+') do list[#list + 1] = entry end
  lists[text], kept = list, kept + #text + OF_A_LIST
  return list
end

-- Returns the next argument, a list. All calls with the same text share one table, so nobody writes to it.
function request.take_list() return list_in(request.take()) end

-- True if there are arguments left.
function request.has_more() return request.at < #request.argv end

-- Returns several arguments, as values.
function request.take_many(many)
  local first = request.at + 1
  request.at = request.at + many
  return unpack(request.argv, first, request.at)
end

-- Notes that there is work for a script type again, in this queue if it is known.
function request.has_work(script_type, queue)
  if queue and request.read_now[queue] then
    request.came_to_read = true
  elseif script_type and not request.types_seen[script_type] then
    request.types_seen[script_type] = true
    request.types[#request.types + 1] = script_type
  end
end

-- The time after this number of ms, ms, in digits.
function request.digits_in(ms) return values.digits(request.now + ms) end

-- At most `most` entries of a set by time, ms, that are due. No entry waits for longer than `longest`: one that seems
-- to was added before the clock of Redis was set back, and is due, too.
function request.due(key, longest, most)
  local due = commands.try('ZRANGEBYSCORE', key, '-inf', request.now, 'LIMIT', 0, most) or {}
  if #due >= most then return due end
  local ahead = commands.try('ZRANGEBYSCORE', key, '(' .. request.digits_in(longest), '+inf', 'LIMIT', 0, most - #due) or {}
  for _, entry in ipairs(ahead) do due[#due + 1] = entry end
  return due
end

-- An empty table: the given one, if it is empty. Creating one costs as much as a short command.
function request.empty(gathered) return next(gathered) and {} or gathered end

local function set_time(believed, text)
  request.delay, request.is_timed = 0, string.byte(believed) == 61
  request.now_text = text
  if request.is_timed then
    request.now = tonumber(string.sub(believed, 2))
    return
  end
  local clock = redis.call('TIME')
  local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
  local delay = now - believed
  request.now, request.delay = now, delay
  -- The server's text serves for all but the milliseconds within the same second.
  if delay ~= 0 and #text == 24 and math.floor(now / 1000) == math.floor(believed / 1000) then
    request.now_text = string.format('%s%03dZ', string.sub(text, 1, 20), now % 1000)
  elseif delay ~= 0 then
    request.now_text = time.text(now)
  end
end

-- The used memory, bytes, as Redis counts it when it refuses more, and the maximum; 0 is no limit. A user without the
-- right to ask gets 0.
function request.memory()
  local info = redis.pcall('INFO', 'memory')
  local function number(name) return type(info) == 'string' and tonumber(string.match(info, '\n' .. name .. ':(%d+)')) or 0 end
  return number('used_memory') - number('mem_not_counted_for_evict'), number('maxmemory')
end

-- From this part of its memory on, the rest is for the ends of jobs.
local NEARLY_FULL = 0.9

-- True if Redis is nearly full. `look` is 'look' if the server found that memory may be short.
function request.is_nearly_full(look)
  if look ~= 'look' then return false end
  local used, most = request.memory()
  return most > 0 and used >= NEARLY_FULL * most
end

-- An answer that Redis is nearly full, or nil.
function request.refuse_nearly_full(look)
  if not request.is_nearly_full(look) then return nil end
  return redis.error_reply('OOM Redis uses more than 90% of its memory; what is left is for the ends of jobs')
end

-- Begins a call and forgets everything of the one before. Returns the answer if the call must not be carried out.
--
-- While a hash slot of a cluster moves, a node raises an error for each key that it does not have (any more), even in
-- the middle of a call. So a call is refused as a whole, before anything is done. In a cluster, `KEYS[1]` is a key of
-- the hash slot.
function request.enter(names, argv)
  -- A number is no refusal: a foreign program may have created that key.
  if names[1] and type(redis.pcall('EXISTS', names[1] .. ':none')) == 'table' then
    return redis.error_reply('TRYAGAIN the slot of this context is moving')
  end
  local context, server, keep_finished, keep_error, keep_waited, prefix = unpack(list_in(argv[1]), 1, 6)
  keys.of_context(prefix or '', context)
  set_time(argv[2], argv[3])
  request.server, request.keep_finished, request.keep_error, request.keep_waited = server, keep_finished, keep_error, keep_waited
  request.argv, request.at = argv, request.COMMON
  local empty = request.empty
  request.counters, request.notices, request.own = empty(request.counters), empty(request.notices), empty(request.own)
  request.types, request.types_seen, request.native_only = empty(request.types), empty(request.types_seen), empty(request.native_only)
  request.read_now, request.came_to_read = empty(request.read_now), false
  request.announced = empty(request.announced)
  request.releases, request.has_events, request.of_flows = 0, false, 0
  return nil
end

return request
