-- What the objects of the coordinator have in common: numbers that are given once, and revisions by which servers see a change.
local try = commands.try
local coordinator = {}

-- The last number; how many numbers a call looks at, and how many of them in a row: then it goes on by so many.
local LAST, MOST_LOOKED_AT, MOST_IN_A_ROW, STRIDE = 4294967295, 1000, 500, 1000

local function last(kind) return tonumber(try('GET', keys.sequence(kind)) or nil) or 0 end

-- Has a number not be given again, whoever gave it.
function coordinator.keep_number(kind, number)
  number = tonumber(number)
  if number and number <= LAST and number > last(kind) then redis.call('SET', keys.sequence(kind), values.digits(number)) end
end

-- How many numbers of runners are remembered that other programs have taken.
local MOST_TAKEN = 10000

-- Has the number of a runner of another program not be given. Where it is beyond the last one that was given here it is remembered, so that
-- it uses up none of ours; of very many the highest are forgotten: it takes longest until one of those is given.
function coordinator.keep_runner(id)
  local number = tonumber(id)
  if not number or number > LAST or number <= last('runner') then return end
  commands.insist('ZADD', keys.taken_runners, number, id)
  for _, highest in ipairs(redis.call('ZRANGE', keys.taken_runners, MOST_TAKEN, -1)) do redis.call('ZREM', keys.taken_runners, highest) end
end

-- Sees to it that it is known which numbers of runners were given here: where that is lost, those that are listed, but for those of other
-- programs.
function coordinator.recover_runners()
  if tonumber(try('GET', keys.sequence('runner')) or nil) then return end
  for _, id in ipairs(try('ZREVRANGE', keys.runners, 0, MOST_TAKEN - 1) or {}) do
    if not try('ZSCORE', keys.taken_runners, id) then return coordinator.keep_number('runner', id) end
  end
end

-- A number of a runner that none has had. Nil and why, as `next_number` says.
function coordinator.next_runner()
  local function key_of(number)
    return try('ZSCORE', keys.taken_runners, number) and keys.taken_runners or keys.runner(number)
  end
  local number, why = coordinator.next_number('runner', key_of)
  try('ZREMRANGEBYSCORE', keys.taken_runners, '-inf', last('runner'))
  return number, why
end

-- A number that no object of a kind has had, whose objects are at `key_of(number)`; `reserved` has keys that are about to be made. Else nil
-- and why: 'none' is left, or others have taken so many that the next call goes on looking, 'later'.
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

-- How many keys one command looks at.
local AT_ONCE = 500

-- So many numbers of a kind, as `next_number` gives one: those that follow, where none of them was taken.
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

-- Notes that something of a kind has changed, so that servers look again.
function coordinator.changed(kind) commands.revise(keys.revisions, kind) end

-- A time as the coordinator's specification has it, in seconds.
function coordinator.seconds() return values.digits(math.floor(request.now / 1000)) end

return coordinator
