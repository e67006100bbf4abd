-- Takes jobs out of a queue of the conveyor dialect: each becomes a job of ours, or fails at once.
-- ARGV  9 what conveyor keys begin with   10 queue   11 no work queue gets longer
--       12… elements, the first to take first, each: bytes · then
--       'job' · id · parent or '' · script type · number of fields and values · field · value …
--       'ill' · id · parent or '' · the job with the reason of its failure      'bad' (no job at all)
-- Gives for each 'taken' · 'full' (it stays where it is, because the work queue takes no more or is paused) · 'gone' (another server took it) · 'twice' (it is under way already)
-- · 'other' (its id is that of a job from elsewhere) · 'failed' · 'lost' (there is no list to keep what failed).
local at, queue, bound, place = ARGV[9], ARGV[10], tonumber(ARGV[11]), 11
local function take() place = place + 1; return ARGV[place] end
local answers, created = {}, {}

local function give_back(id, parent, element)
  local kept = set_aside(at, element)
  leave_conveyor_parent(at, id, parent)
  return kept
end

local function import(bytes, id, parent, script_type, first, last)
  local key = job_prefix .. id
  local again, known = redis.call('EXISTS', key) == 1, nil
  if again then
    known = try('HMGET', key, 'dialect', 'status', 'script_type', 'actor', 'worker_id') or {}
    if known[1] ~= 'conveyor' then return give_back(id, parent, bytes) and 'other' or 'lost' end
    if not is_final(known[2]) then return 'twice' end
  end
  local work = work_key(script_type)
  if is_paused(work) or (waiting_in(work) or bound) >= bound then return 'full' end
  -- Whoever adds a job again that has ended wants it to run again.
  if again then
    forget_stops(id, known[3] or script_type, known[4], known[5])
    redis.call('UNLINK', key)
  end
  clear_leftovers(id)
  redis.call('HSET', key, 'id', id, 'created_at', now_text, 'given_back', first_claim(), 'dialect', 'conveyor', 'dialect_key', conveyor_job_key(at, id), 'dialect_parent', parent,
    'rel', conveyor_relation(at), 'linked', '1', 'indexed', string.format('%.0f', now), unpack(ARGV, first, last))
  redis.call('SET', conveyor_job_key(at, id), bytes)
  -- No job is its own child, whatever its client says.
  try('SREM', conveyor_job_key(at, id, 'active'), id)
  for _, what in ipairs({ 'children', 'active', 'onComplete' }) do redis.call('PERSIST', conveyor_job_key(at, id, what)) end
  count(script_type, 'created')
  begin(id, 0, script_type, work, nil, 0)
  created[#created + 1] = id
  return 'taken'
end

local function refuse_ill(id, parent, failed)
  if redis.call('EXISTS', job_prefix .. id) == 1 then return give_back(id, parent, failed) and 'failed' or 'lost' end
  -- It ends like any other: its children with it, its heirs run, its parent goes on.
  redis.call('SET', conveyor_job_key(at, id), failed)
  conveyor_ended(at, id, 'error')
  return 'failed'
end

while place < #ARGV do
  local bytes, kind = take(), take()
  local there, answer = lies_in(queue, bytes), 'gone'
  if kind == 'job' then
    local id, parent, script_type, fields = take(), take(), take(), tonumber(take())
    if there then answer = import(bytes, id, parent, script_type, place + 1, place + fields) end
    place = place + fields
  elseif kind == 'ill' then
    local id, parent, failed = take(), take(), take()
    if there then answer = refuse_ill(id, parent, failed) end
  elseif there then
    answer = set_aside(at, bytes) and 'failed' or 'lost'
  end
  if there and answer ~= 'full' then redis.call('LREM', queue, -1, bytes) end
  answers[#answers + 1] = answer
end
if #created > 0 then list_in(index_key(now_text), unpack(created)) end
flush()
tell_own()
return answers
