-- What time it is; stands behind keys.lua.
-- ARGV  3 now, ms, as the server believes, or '=' and ms where that counts (in tests)   4 the same as text

-- The time of Redis: no server's clock decides what is over, nor what is written, so that times of a job by several servers are in order.
-- The server's text serves for all but the milliseconds while the second is the same. `delay` is for how long this call was on its way, in ms; or the
-- server believes in a time that long ago.
local now, now_text, delay = nil, ARGV[4], 0
if string.byte(ARGV[3]) == 61 then
  now = tonumber(string.sub(ARGV[3], 2))
else
  local time = redis.call('TIME')
  now = time[1] * 1000 + math.floor(time[2] / 1000)
  delay = now - ARGV[3]
  if delay ~= 0 and #now_text == 24 and math.floor(now / 1000) == math.floor(ARGV[3] / 1000) then
    now_text = string.format('%s%03dZ', string.sub(now_text, 1, 20), now % 1000)
  elseif delay ~= 0 then
    -- RFC 3339 in UTC.
    local days, rest = math.floor(now / 86400000), now % 86400000
    -- Years begin in March here, so that a leap day is the last of its year.
    local era = math.floor((days + 719468) / 146097)
    local of_era = days + 719468 - era * 146097
    local year = math.floor((of_era - math.floor(of_era / 1460) + math.floor(of_era / 36524) - math.floor(of_era / 146096)) / 365)
    local of_year = of_era - (365 * year + math.floor(year / 4) - math.floor(year / 100))
    local month = math.floor((5 * of_year + 2) / 153)
    local day = of_year - math.floor((153 * month + 2) / 5) + 1
    month = month < 10 and month + 3 or month - 9
    year = year + era * 400 + (month <= 2 and 1 or 0)
    now_text = string.format('%04d-%02d-%02dT%02d:%02d:%02d.%03dZ', year, month, day, math.floor(rest / 3600000), math.floor(rest / 60000) % 60,
      math.floor(rest / 1000) % 60, rest % 1000)
  end
end
