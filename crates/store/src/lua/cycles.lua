-- Finds jobs that would wait for themselves.
local try = commands.try
local cycles = {}

-- The number of relations that are followed for one job of ours.
cycles.MOST_FOLLOWED = 4000
-- The number of relations that are followed for all jobs of a call.
cycles.MOST_FOLLOWED_IN_ALL = 5000

local read_relations = jobs.reader('status', 'prerequisites', 'dependencies', 'parent_id', 'predecessor_id', 'more_prerequisites')

-- The jobs that an existing job (or one that was created and is about to exist) waits for. Nil: there are more than
-- `most`, and they are not read.
function cycles.relations_of(id, most)
  local job = read_relations(id) or {}
  if not job.status then
    links.show(keys.job(id))
    job = read_relations(id) or {}
  end
  -- A job that has begun waits for nothing.
  if not values.is_waiting(job.status) then return { prerequisite = {} } end
  local text, added = job.prerequisites or '', tonumber(job.more_prerequisites) or 0
  -- Usually there is one.
  if #text == 40 and added == 0 and (not job.dependencies or job.dependencies == text) then
    return { prerequisite = { string.sub(text, 3, 38) }, parent = job.parent_id, predecessor = job.predecessor_id }
  end
  if added + math.max(#text, #(job.dependencies or '')) / 390 > most + 1 then return nil end
  local others = relations.prerequisites_of(job.prerequisites, job.dependencies)
  for _, other in ipairs(added > 0 and relations.added_prerequisites(id) or {}) do others[#others + 1] = other end
  return { prerequisite = others, parent = job.parent_id, predecessor = job.predecessor_id }
end

-- Returns the jobs that would wait for each other if the jobs of `new` (id → relations) were stored; true if there are
-- more than `walk.left` relations to follow; or nil. A node is the start or the close of a job. A start waits for the
-- starts of prerequisites and parent, and for the close of the predecessor; a close waits for the job's own start, and
-- for the closes of its children. `known`: others may name the new jobs already. The contents of `walk` also serve the
-- next search of the same call, so that nothing is followed twice; `walk.left` is reduced.
function cycles.find(new, walk, known)
  local before, path, visit, comes_back = {}, {}, nil, known
  -- Nodes from which everything has been followed; children that are named here; jobs whose ancestors are.
  walk.done, walk.children, walk.climbed = walk.done or {}, walk.children or {}, walk.climbed or {}
  local function add(to, kind, id, other)
    -- An existing job leads back to a new one only if the new one names it as dependent or parent.
    comes_back = comes_back or not new[id]
    -- There is a new way from that node.
    if walk.done[kind .. id] then walk.done = {} end
    to[id] = to[id] or {}
    table.insert(to[id], other)
  end
  local function parent_of(id) return try('HGET', keys.job(id), 'parent_id') end
  -- Children that were not started are in no list of their parents.
  local function climb(id, parent)
    while parent and parent ~= '' and walk.left > 0 do
      add(walk.children, 'close ', parent, id)
      if new[parent] or walk.climbed[parent] then return end
      walk.climbed[parent], walk.left = true, walk.left - 1
      id, parent = parent, parent_of(parent)
    end
  end
  for id, of in pairs(new) do
    for _, other in ipairs(of.dependent) do
      add(before, 'start ', other, id)
      if not new[other] then climb(other, parent_of(other)) end
    end
    climb(id, of.parent)
  end
  local function visit_all(kind, ids)
    for _, id in ipairs(ids or {}) do
      local found = visit(kind, id)
      if found then return found end
    end
  end
  -- The jobs on the way from a node to itself, the last first.
  local function cycle_through(node)
    local ids, seen = {}, {}
    for at = #path, 1, -1 do
      local id = string.match(path[at], ' (.*)$')
      if not seen[id] and #ids < relations.NAMED then
        seen[id] = true
        ids[#ids + 1] = id
      end
      if path[at] == node then return ids end
    end
  end
  local function visit_children(id)
    local children, active = keys.relatives(id, 'children'), keys.relatives(id, 'active')
    if (try('LLEN', children) or 0) + (try('SCARD', active) or 0) > walk.left then return true end
    return visit_all('close ', try('LRANGE', children, 0, -1)) or visit_all('close ', try('SMEMBERS', active))
  end
  visit = function(kind, id)
    local node, found = kind .. id
    if walk.done[node] == 'visiting' then return cycle_through(node) end
    -- A node that was followed already costs little.
    if comes_back and not new[id] then walk.left = walk.left - (walk.done[node] and 0.1 or 1) end
    if walk.left < 0 then return true end
    if walk.done[node] then return nil end
    walk.done[node], path[#path + 1] = 'visiting', node
    if kind == 'close ' then
      found = visit('start ', id) or visit_all(kind, walk.children[id]) or comes_back and visit_children(id)
    else
      local of = new[id] or not comes_back and { prerequisite = {} } or cycles.relations_of(id, walk.left)
      found = not of or visit_all(kind, of.prerequisite) or visit_all(kind, before[id]) or of.parent and visit(kind, of.parent)
        or of.predecessor and visit('close ', of.predecessor)
    end
    walk.done[node], path[#path] = not found and 'done' or nil, nil
    return found or nil
  end
  for id in pairs(new) do
    local found = visit('start ', id)
    if found then return found end
  end
end

return cycles
