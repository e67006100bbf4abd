-- Times as texts (RFC 3339) and as milliseconds since 1970.
local time = {}

-- Milliseconds since 1970 of an RFC 3339 time, or nil.
function time.millis(text)
  local y, m, d, h, min, s, fraction, zone =
    string.match(text or '', '^(%d+)-(%d+)-(%d+)[Tt ](%d+):(%d+):(%d+)(%.?%d*)(.*)$')
  if not y then return nil end
  y, m, d = tonumber(y), tonumber(m), tonumber(d)
  if m <= 2 then y, m = y - 1, m + 12 end
  local leap_days = math.floor(y / 4) - math.floor(y / 100) + math.floor(y / 400)
  local days = 365 * y + leap_days + math.floor((153 * (m - 3) + 2) / 5) + d - 719469
  local sign, zh, zm = string.match(zone, '^([+-])(%d%d):?(%d%d)$')
  local offset = sign and (tonumber(zh) * 60 + tonumber(zm)) * (sign == '-' and -1 or 1) or 0
  return ((days * 24 + h) * 60 + min - offset) * 60000 + s * 1000 + math.floor((tonumber('0' .. fraction) or 0) * 1000)
end

-- A time in ms as RFC 3339 in UTC.
function time.text(ms)
  local days, rest = math.floor(ms / 86400000), ms % 86400000
  -- Years begin in March here, so that a leap day is the last of its year.
  local era = math.floor((days + 719468) / 146097)
  local of_era = days + 719468 - era * 146097
  local year = math.floor((of_era - math.floor(of_era / 1460) + math.floor(of_era / 36524) - math.floor(of_era / 146096)) / 365)
  local of_year = of_era - (365 * year + math.floor(year / 4) - math.floor(year / 100))
  local month = math.floor((5 * of_year + 2) / 153)
  local day = of_year - math.floor((153 * month + 2) / 5) + 1
  month = month < 10 and month + 3 or month - 9
  year = year + era * 400 + (month <= 2 and 1 or 0)
  return string.format('%04d-%02d-%02dT%02d:%02d:%02d.%03dZ', year, month, day, math.floor(rest / 3600000),
    math.floor(rest / 60000) % 60, math.floor(rest / 1000) % 60, rest % 1000)
end

return time
