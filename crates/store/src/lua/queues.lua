-- Queues, the state between them and their actors, and the watch of queued jobs.
local try, insist = commands.try, commands.insist
local queues = {}

-- The time between two checks of a queued job, ms: if its type is native only (no foreign actor takes it), and
-- otherwise.
local NATIVE_PAUSE = 5000
queues.FOREIGN_PAUSE = 500

-- Pushes an id to a queue, at the far end or (again) at the taking end, and wakes listeners. False: the key is no list.
function queues.push(queue, script_type, id, again)
  local length = try(again and 'RPUSH' or 'LPUSH', queue, id)
  if length == 1 then news.woken(queue, script_type) end
  return length ~= nil
end

-- The queues of a runner in the order of service. The queue of normal priority has a second name, which only foreign
-- clients use.
function queues.of_runner(script_type, group)
  local normal = keys.work(script_type, group)
  return { normal .. ':prio:0', normal, normal .. ':prio:1', normal .. ':prio:2' }
end

-- The time for which ids left in a queue are noted after the last one, s.
local NOTED_SECONDS = 2592000
-- The number of such ids that a stop or a check removes from the taking end; and the number of queues that a check
-- reads.
local MOST_DROPPED, MOST_QUEUES = 64, 32

-- The number of ids that were left in a queue, and are to be dropped when they come out of it.
function queues.left_in(queue)
  local left = values.number(try('HGET', keys.left(queue), 'all'), 0)
  return left < 1e9 and math.max(left, 0) or 0
end

-- Forgets the ids that were left in a queue.
local function forget_left(queue)
  redis.call('DEL', keys.left(queue))
  try('SREM', keys.with_left, queue)
end

-- True if an id that came out of a queue was left there by a job that does not run from there. It is subtracted from
-- the count.
function queues.drops(queue, id)
  local left = keys.left(queue)
  local times = id ~= 'all' and try('HGET', left, id)
  if not times then return false end
  if (tonumber(times) or 0) > 1 then commands.increase(left, id, -1) else try('HDEL', left, id) end
  if commands.increase(left, 'all', -1) <= 0 then forget_left(queue) end
  return true
end

-- Removes left ids from the taking end of a queue, so that they do not stay where nobody takes jobs.
local function drop_next(queue)
  for _ = 1, MOST_DROPPED do
    local id = try('LINDEX', queue, -1)
    if not (id and queues.drops(queue, id)) then return end
    redis.call('RPOP', queue)
  end
end

-- Removes a job from a queue from which it does not run any more. Far from both ends, and among jobs that are sorted by
-- caller, its id stays, and is dropped when it comes out (`queues.drops`). Until then it is counted by id, so that the
-- job can come into the queue again.
function queues.withdraw(queue, id)
  local length, sorted = try('LLEN', queue), queues.sorted_of(queue)
  if not length then return end
  if length > 0 and commands.remove(queue, id, 1) then return drop_next(queue) end
  if length <= 2 * commands.SOUGHT and sorted == 0 then return end
  local left = keys.left(queue)
  commands.increase(left, id, 1)
  commands.increase(left, 'all', 1)
  redis.call('EXPIRE', left, NOTED_SECONDS)
  insist('SADD', keys.with_left, queue)
  redis.call('EXPIRE', keys.with_left, NOTED_SECONDS)
  drop_next(queue)
end

-- Notes that a queue is empty: others may have taken the left ids.
function queues.ran_empty(queue)
  if try('SISMEMBER', keys.with_left, queue) == 1 and redis.call('EXISTS', queue) == 0 and queues.sorted_of(queue) == 0 then
    forget_left(queue)
  end
end

-- Removes left ids from the taking ends of queues, and forgets those of empty queues.
function queues.clean()
  local _, some = unpack(try('SSCAN', keys.with_left, 0, 'COUNT', MOST_QUEUES) or {}, 1, 2)
  for at, queue in ipairs(some or {}) do
    if at > MOST_QUEUES then return end
    drop_next(queue)
    queues.ran_empty(queue)
  end
end

-- The time of the next check of a queued job: soon if foreign actors may take it.
function queues.look_again_at(script_type)
  local native_only = request.native_only
  if native_only[script_type] == nil then native_only[script_type] = try('SISMEMBER', keys.native_only, script_type) == 1 end
  return request.now + (native_only[script_type] and NATIVE_PAUSE or queues.FOREIGN_PAUSE)
end

local function next_look(script_type, may_be_elsewhere)
  return may_be_elsewhere and request.now + queues.FOREIGN_PAUSE or queues.look_again_at(script_type)
end

-- Watches a queued job. `shadow`: it is in another queue, too, from which foreign actors take.
function queues.watch(id, script_type, shadow) insist('ZADD', keys.watched, values.digits(next_look(script_type, shadow)), id) end

-- Adds a job to those that are pushed together: `to_push` has them by queue.
function queues.add(to_push, queue, script_type, id)
  local ids = to_push[queue]
  if not ids then
    ids = { script_type = script_type }
    to_push[queue] = ids
  end
  ids[#ids + 1] = id
end

-- Watches these jobs. `may_have_shadows`: some go to a second queue, too.
function queues.watch_all(to_push, may_have_shadows)
  for _, ids in pairs(to_push) do
    local look, entries = values.digits(next_look(ids.script_type, may_have_shadows)), {}
    for at, id in ipairs(ids) do entries[2 * at - 1], entries[2 * at] = look, id end
    insist('ZADD', keys.watched, unpack(entries))
  end
end

-- Puts these jobs into their queues.
function queues.push_all(to_push, may_have_shadows)
  for queue, ids in pairs(to_push) do
    if try('LPUSH', queue, unpack(ids)) == #ids then news.woken(queue, ids.script_type) end
    for place = 1, may_have_shadows and #ids or 0 do
      local shadow, only = layouts.shadow_of(ids[place])
      if shadow and not only then try('LPUSH', shadow, ids[place]) end
    end
  end
end

-- True if a queue is paused. A pause covers all of its priorities.
function queues.is_paused(queue) return try('SISMEMBER', keys.paused, (string.gsub(queue, ':prio:%d$', ''))) == 1 end

-- The number of jobs of a queue that are sorted by caller.
function queues.sorted_of(queue)
  local held = values.number(try('GET', keys.fair_part(queue, 'held')), 0)
  return held < 1e9 and held or 0
end

-- The number of jobs that wait in a queue, including those sorted by caller; nil: the key is no list. Left ids count
-- for at most half of it, so that there are never more than twice as many entries.
function queues.waiting_in(queue)
  local length = try('LLEN', queue)
  if not length then return nil end
  local all, left = length + queues.sorted_of(queue), queues.left_in(queue)
  if left > 0 and all == 0 then forget_left(queue) end
  return math.max(all - left, math.floor(all / 2))
end

-- The answer that a queue with this length takes no more jobs. math.huge: its key is no list, and takes nothing.
function queues.full(length) return { 'full', length < math.huge and length or 'no list' } end

-- True if a job is among those of a queue that are sorted by caller. If there are more than `many`, only their number
-- is checked.
function queues.is_sorted(queue, id, many)
  local held = queues.sorted_of(queue)
  if held == 0 or held > many then return held > 0 end
  local caller = redis.sha1hex(try('HGET', keys.job(id), 'caller_id') or '')
  return try('LPOS', keys.fair_part(queue, 'of:' .. caller), id) and true or false
end

-- The number of jobs that may start at once if at most `most` (0: any number) may run in the context. Nobody overtakes
-- script types that wait in line.
function queues.room_at_once(most)
  if most == 0 then return math.huge end
  if redis.call('EXISTS', keys.capped) == 1 then return 0 end
  return most - leases.here()
end

return queues
