-- Shared by the objects of the coordinator: numbers that are given once, and revisions by which servers notice a
-- change.
local try = commands.try
local coordinator = {}

-- The highest number; the number of numbers that a call tries; and the number that it tries in a row before it advances
-- by the stride.
local LAST, MOST_LOOKED_AT, MOST_IN_A_ROW, STRIDE = 4294967295, 1000, 500, 1000

local function last(kind) return tonumber(try('GET', keys.sequence(kind)) or nil) or 0 end

-- Reserves a number that anybody has given, so that it is not given again.
function coordinator.keep_number(kind, number)
  number = tonumber(number)
  if number and number <= LAST and number > last(kind) then redis.call('SET', keys.sequence(kind), values.digits(number)) end
end

-- The number of runner numbers taken by other programs that are remembered.
local MOST_TAKEN = 10000

-- Reserves the number of a runner of another program. A number above the last one given here is remembered, so that it
-- uses up none of ours. If there are very many, the highest are forgotten, because it takes longest until one of them
-- is given.
function coordinator.keep_runner(id)
  local number = tonumber(id)
  if not number or number > LAST or number <= last('runner') then return end
  commands.insist('ZADD', keys.taken_runners, number, id)
  for _, highest in ipairs(redis.call('ZRANGE', keys.taken_runners, MOST_TAKEN, -1)) do redis.call('ZREM', keys.taken_runners, highest) end
end

-- Restores the last runner number given here if it is lost: from the listed runners, without those of other programs.
function coordinator.recover_runners()
  if tonumber(try('GET', keys.sequence('runner')) or nil) then return end
  for _, id in ipairs(try('ZREVRANGE', keys.runners, 0, MOST_TAKEN - 1) or {}) do
    if not try('ZSCORE', keys.taken_runners, id) then return coordinator.keep_number('runner', id) end
  end
end

-- Returns a number that no runner has had; otherwise nil and the reason, as `next_number`.
function coordinator.next_runner()
  local function key_of(number)
    return try('ZSCORE', keys.taken_runners, number) and keys.taken_runners or keys.runner(number)
  end
  local number, why = coordinator.next_number('runner', key_of)
  try('ZREMRANGEBYSCORE', keys.taken_runners, '-inf', last('runner'))
  return number, why
end

-- Returns a number that no object of a kind has had; `key_of(number)` is the key of such an object, and `reserved`
-- contains keys that are about to be created. Otherwise returns nil and the reason: 'none' (no number is left) or
-- 'later' (others have taken so many that the next call has to go on).
function coordinator.next_number(kind, key_of, reserved)
  local number, digits = last(kind)
  for looked = 1, MOST_LOOKED_AT do
    number = number + (looked <= MOST_IN_A_ROW and 1 or STRIDE)
    if number > LAST then return nil, 'none' end
    digits = values.digits(number)
    local key = key_of(digits)
    if not (reserved and reserved[key]) and redis.call('EXISTS', key) == 0 then
      redis.call('SET', keys.sequence(kind), digits)
      return digits
    end
  end
  redis.call('SET', keys.sequence(kind), digits)
  return nil, 'later'
end

-- The number of keys that one command checks.
local AT_ONCE = 500

-- Returns several numbers of a kind, as `next_number` does: the ones that follow, if none of them is taken.
function coordinator.next_numbers(kind, key_of, many)
  local from, digits, taken = last(kind), {}, false
  for first = 1, many, AT_ONCE do
    local looked_at = {}
    for at = first, math.min(first + AT_ONCE - 1, many) do
      digits[at] = values.digits(from + at)
      looked_at[#looked_at + 1] = key_of(digits[at])
    end
    taken = taken or from + many > LAST or redis.call('EXISTS', unpack(looked_at)) > 0
  end
  if not taken then
    if many > 0 then redis.call('SET', keys.sequence(kind), digits[many]) end
    return digits
  end
  for at = 1, many do
    local number, why = coordinator.next_number(kind, key_of)
    if not number then return nil, why end
    digits[at] = number
  end
  return digits
end

-- Notes that something of a kind has changed, so that servers read it again.
function coordinator.changed(kind) commands.revise(keys.revisions, kind) end

-- The current time as in the coordinator's specification, in seconds.
function coordinator.seconds() return values.digits(math.floor(request.now / 1000)) end

return coordinator
