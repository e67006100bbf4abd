-- The keys of the context of a call. They are the same as in keys.rs; a test compares the two.
local keys = { prefix = nil, context = nil }

-- The maximum number of keys of control queues that are cached, by actor: each fetch needs those of its pool.
local MOST_KEPT = 1024
local control_instances, kept = {}, 0
-- The last job whose key was requested, and that key: the commands on a job follow each other.
local last_job, last_key

-- Builds the keys of a context; usually it is the context of the call before.
function keys.of_context(prefix, context)
  if prefix == keys.prefix and context == keys.context then return end
  keys.prefix, keys.context = prefix, context
  commands.of_context(context)
  control_instances, kept = {}, 0
  last_job, last_key = nil, nil
  keys.job_prefix = prefix .. 'hero:job:'
  keys.scheduled = prefix .. 'hero:q:scheduled'
  keys.leases = prefix .. 'hero:q:leases'
  keys.unwritten = prefix .. 'hero:q:unwritten'
  keys.watched = prefix .. 'hero:q:watched'
  keys.release = prefix .. 'hero:q:release'
  keys.linking = prefix .. 'hero:q:created'
  keys.staging = prefix .. 'hero:q:staged'
  keys.holding = prefix .. 'hero:q:holding'
  keys.conveyor_ends = prefix .. 'hero:q:conveyor'
  keys.capped = prefix .. 'hero:q:capped'
  keys.native_only = prefix .. 'hero:meta:calm'
  keys.foreign = prefix .. 'hero:meta:foreign'
  keys.reaped = prefix .. 'hero:meta:reaped'
  keys.hours = prefix .. 'hero:meta:hours'
  keys.time_offsets = prefix .. 'hero:meta:strays'
  keys.types = prefix .. 'hero:meta:types'
  keys.queues = prefix .. 'hero:meta:queues'
  keys.paused = prefix .. 'hero:meta:paused'
  keys.fair = prefix .. 'hero:meta:fair'
  keys.with_left = prefix .. 'hero:meta:left'
  keys.schedules = prefix .. 'hero:meta:schedules'
  keys.events = prefix .. 'hero:events'
  keys.collections = prefix .. 'hero:meta:collections'
  keys.access = prefix .. 'hero:meta:access'
  keys.identities = prefix .. 'hero:access:identities'
  keys.taken_numbers = prefix .. 'hero:access:numbers'
  keys.public_keys = prefix .. 'hero:access:pubkeys'
  keys.tokens = prefix .. 'hero:access:tokens'
  keys.msg_in = prefix .. 'msg_in'
  keys.msg_out = prefix .. 'msg_out'
  keys.open_messages = prefix .. 'hero:q:messages'
  keys.answers = prefix .. 'hero:q:answers'
  keys.results = prefix .. 'hero:q:results'
  keys.resting = prefix .. 'hero:q:resting'
  keys.unsent = prefix .. 'hero:q:unsent'
  keys.stops = prefix .. 'hero:q:stops'
  keys.envelopes_in = prefix .. 'hero:bus:box:in'
  keys.nonces = prefix .. 'hero:meta:nonces'
  keys.known = prefix .. 'hero:meta:known'
  keys.nodes = prefix .. 'hero:meta:nodes'
  keys.runners = prefix .. 'hero:meta:runners'
  keys.taken_runners = prefix .. 'hero:meta:runners:taken'
  keys.topics = prefix .. 'hero:meta:topics'
  keys.revisions = prefix .. 'hero:meta:revisions'
  keys.contexts = prefix .. 'hero:access:contexts'
  keys.closed = prefix .. 'hero:meta:closed'
  keys.rate = prefix .. 'hero:meta:rate'
  keys.stored = prefix .. 'hero:meta:stored'
  keys.rights = prefix .. 'context:' .. context
  keys.flows = prefix .. 'hero:meta:flows'
  keys.flows_to_do = prefix .. 'hero:q:flows'
end

function keys.job(id)
  if id ~= last_job then last_job, last_key = id, keys.job_prefix .. id end
  return last_key
end

function keys.reply(id) return keys.prefix .. 'hero:q:reply:' .. id end

function keys.log(id) return keys.prefix .. 'hero:log:' .. id end

function keys.stats(script_type) return keys.prefix .. 'hero:meta:queue:stats:' .. script_type end

function keys.control(script_type) return keys.prefix .. 'hero:q:ctl:type:' .. script_type end

function keys.control_instance(actor)
  local known = control_instances[actor]
  if known then return known end
  local script_type, group, instance = string.match(actor, '^([^:]+):([^:]+):([^:]+)$')
  if not script_type then return nil end
  if kept == MOST_KEPT then control_instances, kept = {}, 0 end
  local key = keys.control(script_type) .. ':group:' .. group .. ':inst:' .. instance
  control_instances[actor], kept = key, kept + 1
  return key
end

function keys.legacy_reply(id) return keys.prefix .. 'hero:reply:' .. id end

function keys.stop_queue(worker) return keys.prefix .. 'hero:stop_queue:' .. worker end

function keys.work_queue(worker) return keys.prefix .. 'hero:work_queue:' .. worker end

-- The worker that a legacy work queue is named after, and whether only a queue has such a name (the hash of a job may
-- have it, too). Nil: it is no such queue.
function keys.worker_of(queue)
  local rest = string.sub(queue, 1, #keys.prefix) == keys.prefix and string.sub(queue, #keys.prefix + 1) or ''
  local worker = string.match(rest, '^hero:work_queue:(.+)$') or string.match(rest, '^hero:job:actor_queue:(.+)$')
  if worker then return worker, true end
  return string.match(rest, '^hero:job:(.+)$'), false
end

function keys.idempotency(digest) return keys.prefix .. 'hero:idem:' .. digest end

-- A staged job, by its place in its group. The other keys of a group: its jobs by the keys that they will have, its
-- lines, and the existing jobs that wait for some of its jobs.
function keys.staged(group, place) return keys.prefix .. 'hero:staged:' .. group .. ':' .. place end

function keys.staged_at(place) return keys.prefix .. 'hero:staged:' .. place end

function keys.group(group) return keys.prefix .. 'hero:staged:' .. group end

function keys.lines(group) return keys.prefix .. 'hero:staged:' .. group .. ':lines' end

function keys.held(group) return keys.prefix .. 'hero:staged:' .. group .. ':held' end

function keys.wake_up(script_type) return 'hero:bell:' .. keys.context .. ':' .. script_type end

function keys.alarm() return 'hero:alarm:' .. keys.context end

function keys.inbox(server) return 'hero:inbox:' .. server end

-- A list of the jobs that wait for a job: 'dependents', 'children' or 'onComplete'; or the set of its children that may
-- run: 'active'.
function keys.relatives(id, what) return keys.prefix .. 'hero:rel:' .. id .. ':' .. what end

-- The index of the hour of a time (RFC 3339 in UTC).
function keys.index(time) return keys.prefix .. 'hero:index:' .. (string.gsub(string.sub(time, 1, 13), '[-T]', '')) end

-- The jobs of a status, by the time since when they are in the index of an hour.
function keys.index_of_status(status) return keys.prefix .. 'hero:index:' .. status end

-- A part of the jobs of a queue that are sorted by caller: 'ring', 'held', or 'of:' and a digest of the caller.
function keys.fair_part(queue, what)
  return keys.prefix .. 'hero:q:fair:' .. string.sub(queue, #keys.prefix + #'hero:q:work:' + 1) .. ':' .. what
end

-- Ids that were left in a queue and their number, though their jobs do not run from there.
function keys.left(queue) return keys.prefix .. 'hero:q:left:' .. string.sub(queue, #keys.prefix + #'hero:q:work:' + 1) end

-- The tokens of an identity.
function keys.tokens_of(id) return keys.prefix .. 'hero:access:tokens:of:' .. id end

-- A nonce that was used to log in.
function keys.nonce(id) return keys.prefix .. 'hero:access:nonce:' .. id end

function keys.identity(id) return keys.prefix .. 'actor:' .. id end

function keys.message(caller, number) return keys.prefix .. 'message:' .. caller .. ':' .. number end

-- The local number of a message whose number another one has, by the beginning of its signer's key and its nonce.
function keys.came(known) return keys.prefix .. 'hero:came:' .. known end

-- The messages of a status.
function keys.messages_of(status) return keys.prefix .. 'hero:messages:' .. status end

-- The messages that a node is sending.
function keys.sending(node) return keys.prefix .. 'msg_out:sending:' .. node end

-- The messages with jobs of a runner that were sent last, and may be on their way.
function keys.sent(group) return keys.prefix .. 'hero:q:sent:' .. group end

-- The messages with jobs of a runner whose result is awaited.
function keys.awaited(group) return keys.prefix .. 'hero:q:awaited:' .. group end

-- The messages whose jobs were stopped here, which the other side of a runner is to be told.
function keys.stops_of(group) return keys.prefix .. 'hero:q:stops:' .. group end

-- The jobs of runners of a script type.
function keys.runner_queue(script_type) return keys.prefix .. 'queue:' .. script_type end

function keys.runner(id) return keys.prefix .. 'runner:' .. id end

-- The last number that an object of the coordinator of this kind was given.
function keys.sequence(kind) return keys.prefix .. 'hero:seq:' .. kind end

function keys.flow(number) return keys.prefix .. 'flow:' .. number end

function keys.runner_job(caller, number) return keys.prefix .. 'job:' .. caller .. ':' .. number end

function keys.collection(name) return keys.prefix .. 'hero:osis:' .. name end

function keys.schedule(id) return keys.prefix .. 'hero:schedule:' .. id end

function keys.schedule_waiting(id) return keys.prefix .. 'hero:schedule:' .. id .. ':waiting' end

-- An instance without a group belongs to the group 'default'; normal priority has no suffix.
function keys.work(script_type, group, instance, priority)
  local key = keys.prefix .. 'hero:q:work:type:' .. script_type
  if instance and instance ~= '' then
    key = key .. ':group:' .. ((group and group ~= '') and group or 'default') .. ':inst:' .. instance
  elseif group and group ~= '' then
    key = key .. ':group:' .. group
  end
  if priority == '0' or priority == '2' then key = key .. ':prio:' .. priority end
  return key
end

return keys
