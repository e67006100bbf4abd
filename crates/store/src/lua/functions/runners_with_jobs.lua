-- Flags: no-writes
-- Finds out which of many runners have jobs in their queues.
-- ARGV  for each script type: type · list of the numbers of its runners
-- Gives the numbers of those that have any.

-- The number of runners that one command checks together.
local AT_ONCE = 128

local function add_queues(found, script_type, number, with_rings)
  for _, queue in ipairs(queues.of_runner(script_type, 'runner' .. number)) do
    found[#found + 1] = queue
    -- Jobs that are sorted by caller are in another key.
    if with_rings then found[#found + 1] = keys.fair_part(queue, 'ring') end
  end
end

return function()
  local with_rings, waiting = redis.call('EXISTS', keys.fair) == 1, {}
  while request.has_more() do
    local script_type, numbers = request.take(), request.take_list()
    for from = 1, #numbers, AT_ONCE do
      local last, of_all = math.min(from + AT_ONCE - 1, #numbers), {}
      for at = from, last do add_queues(of_all, script_type, numbers[at], with_rings) end
      local some = redis.call('EXISTS', unpack(of_all)) > 0
      for at = some and from or last + 1, last do
        local own = {}
        add_queues(own, script_type, numbers[at], with_rings)
        if redis.call('EXISTS', unpack(own)) > 0 then waiting[#waiting + 1] = numbers[at] end
      end
    end
  end
  return waiting
end
