-- What stands between queues and their actors; stands behind foreign.lua.

-- Whether somebody paused a queue: a pause holds for all its priorities.
local function is_paused(queue) return try('SISMEMBER', paused_key, (string.gsub(queue, ':prio:%d$', ''))) == 1 end

-- How many jobs of a queue are sorted by caller.
local function sorted_of(queue) return number(try('GET', fair_part(queue, 'held')), 0) end

-- How many jobs wait in a queue, those sorted by caller included; nil: the key is no list.
local function waiting_in(queue)
  local length = try('LLEN', queue)
  return length and length + sorted_of(queue)
end

-- Whether a job is among those of a queue that are sorted by caller. Of many only the number is looked at.
local function is_sorted(queue, id, many)
  local held = sorted_of(queue)
  if held == 0 or held > many then return held > 0 end
  local caller = redis.sha1hex(try('HGET', job_prefix .. id, 'caller_id') or '')
  return try('LPOS', fair_part(queue, 'of:' .. caller), id) and true or false
end

-- How many more jobs may start at once where at most so many (0: any number) may run in the context. Nobody overtakes those who stand in line.
local function room_at_once(most)
  if most == 0 then return math.huge end
  if redis.call('EXISTS', capped_key) == 1 then return 0 end
  return most - redis.call('ZCARD', leases_key)
end
