-- What the objects of the coordinator have in common: numbers that are given once, and revisions by which servers see a change.
local try = commands.try
local coordinator = {}

-- The last number, and how many that others have taken are passed over at once.
local LAST, MOST_PASSED_OVER = 4294967295, 1000

local function last(kind) return tonumber(try('GET', keys.sequence(kind)) or nil) or 0 end

-- Has a number not be given again, whoever gave it.
function coordinator.keep_number(kind, number)
  number = tonumber(number)
  if number and number <= LAST and number > last(kind) then redis.call('SET', keys.sequence(kind), values.digits(number)) end
end

-- A number that no object of a kind has had, whose objects are at `key_of(number)`. Nil: there is none left, or others have taken so
-- many numbers that looking for one has to go on with the next call.
function coordinator.next_number(kind, key_of)
  for _ = 1, MOST_PASSED_OVER do
    local number = last(kind) + 1
    if number > LAST then return nil end
    local digits = values.digits(number)
    redis.call('SET', keys.sequence(kind), digits)
    if redis.call('EXISTS', key_of(digits)) == 0 then return digits end
  end
  return nil
end

-- Notes that something of a kind has changed, so that servers look again.
function coordinator.changed(kind) commands.increase(keys.revisions, kind, 1) end

-- A time as the coordinator's specification has it, in seconds.
function coordinator.seconds() return values.digits(math.floor(request.now / 1000)) end

return coordinator
