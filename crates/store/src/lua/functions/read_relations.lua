-- Flags: allow-oom
-- Reads the relations of jobs, so that the server can follow them. Jobs that were created already come to their places
-- with this call.
-- ARGV  number of relations that may still be followed · each: 'start', 'close' or 'parent' · id …
-- Gives {revision of relations}, then for as many of these as the call has room for, at least the first:
-- {parent or '', predecessor or '', prerequisites …} of a 'start', while it waits · {children …} of a 'close' · {parent
-- or ''}
-- · {'many'} (more than may be followed).
local try = commands.try

-- The number of relations that a call reads, about.
local ROOM = 400

local function children_of(id, most)
  local children, active = keys.relatives(id, 'children'), keys.relatives(id, 'active')
  if (try('LLEN', children) or 0) + (try('SCARD', active) or 0) > most then return { 'many' } end
  local all = try('LRANGE', children, 0, -1) or {}
  for _, child in ipairs(try('SMEMBERS', active) or {}) do all[#all + 1] = child end
  return all
end

local function read(kind, id, most)
  if kind == 'close' then return children_of(id, most) end
  links.show(keys.job(id))
  if kind == 'parent' then return { try('HGET', keys.job(id), 'parent_id') or '' } end
  local of = cycles.relations_of(id, most)
  return of and { of.parent or '', of.predecessor or '', unpack(of.prerequisite) } or { 'many' }
end

return function()
  local most, answers, many = request.take_number(), { { relations.revision() } }, 0
  while request.has_more() and many < ROOM do
    local answer = read(request.take(), request.take(), most)
    many = many + 1 + #answer
    answers[#answers + 1] = answer
  end
  news.send_all()
  return answers
end
