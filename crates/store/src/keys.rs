//! Every Redis key: its pattern, its type, who writes it and how long it lives.
//!
//! | key | type | written by | lives |
//! | --- | --- | --- | --- |
//! | `hero:job:{id}` | hash | create, fetch, every transition, set_object, delete_object, drop_index (`asked`), foreign clients and actors | retention after its end |
//! | `hero:q:work:type:{t}[:group:{g}[:inst:{i}]][:prio:{0,1,2}]` | list | whoever makes a job ready to run (`queues.push`) or stores it (create); foreign clients | while not empty |
//! | `hero:q:ctl:type:{t}[:group:{g}:inst:{i}]` | list | stop; foreign clients | 60 s |
//! | `hero:q:reply:{id}` | list | every end; foreign actors | 5 min |
//! | `hero:stop_queue:{worker}` | list | stop, for a job that a foreign actor runs | 60 s |
//! | `hero:q:scheduled` | zset by ms | whoever delays a job or a retry | an entry until it is due |
//! | `hero:q:leases` | zset by ms, of jobs that are away by 10^14 ms more | create, fetch, renew, recover | an entry until the job leaves its actor, or its result is there |
//! | `hero:q:unwritten` · `hero:q:watched` | zset by ms | fetch, import_queues: ids whose hash is not there yet · whoever enqueues a job | an entry 5 s, and as long again when nobody looked for a while · until an actor of ours takes the job, or it has ended |
//! | `hero:q:capped` | zset by ms | fetch: types that found no room in their context | an entry 5 s |
//! | `hero:q:fair:{…}:ring` · `:of:{caller}` · `:held` | list · list · number | fetch: jobs of the queue `hero:q:work:{…}` sorted by caller | while not empty |
//! | `hero:q:release` · `hero:q:created` | list | every end of a job with relations · commit_jobs: groups of jobs that were created together, and are to come to their places and be entered where those have them that they wait for | an entry until its relatives are released · until link_jobs or the releaser has done it |
//! | `hero:q:staged` | zset by ms | create: groups that are staged, with how many places they have, by when they are taken away; 0 where that has begun | an entry until commit_jobs, unstage_jobs or the releaser takes it |
//! | `hero:q:holding` | zset by ms | hold_dependents: those of these groups for which jobs wait that are there | a member until commit_jobs, unstage_jobs or the releaser takes it |
//! | `hero:q:conveyor` | zset by ms | every end of a job of the conveyor layout | an entry until the job is closed or waits for its children |
//! | `hero:rel:{id}:dependents` · `:children` · `:onComplete` | list | whoever links a job: who waits for it | until released |
//! | `hero:rel:{id}:active` | set | release, and whoever links a job: its children that may run | a member until that child is closed |
//! | `hero:meta:actor:inst:{t}:{g}:{i}` | string | the actor | 15 s |
//! | `hero:meta:displaced:{server}` | string | a server whose actors lost their registrations, while it lives | 15 s |
//! | `hero:meta:actors` · `hero:meta:queues` | set | actors · whoever pushes | swept by the pruner |
//! | `hero:q:left:{…}` · `hero:meta:left` | hash · set | stop, control, delete: ids of jobs that do not run from the queue `hero:q:work:{…}` any more and lie far back in it, with how often; `all` counts them · those queues | until they have come out of it; 30 days after the last |
//! | `hero:meta:paused` · `hero:meta:fair` | set | pause, resume · fetch: queues that keep jobs sorted by caller | until resumed · until those are taken |
//! | `hero:meta:calm` · `hero:meta:foreign` | set · zset by ms | the surveyor, reap | types that only our actors take · last signs of others |
//! | `hero:meta:queue:stats:{t}` | hash | every transition | 30 days after the last; at most 1,000 |
//! | `hero:meta:identity` | string | the first job with a log file: 32 random digits that tell this Redis from others | for ever |
//! | `hero:meta:hours` · `hero:meta:types` | set | whoever first writes such an index or such counters; the indexer | swept by the pruner |
//! | `hero:meta:strays` | hash by index key | whoever first sees a foreign job that says another time than that: how far ahead and behind, ms; whoever sees that Redis' clock was set back (field with `:back`): how far | swept by the pruner |
//! | `hero:meta:reaped` | string | reap: when leases were last looked at, and until when none is over, ms; after a setback of the clock also by how much, and how far what waits was looked through | a day |
//! | `hero:meta:schedules` | zset by ms | schedule, create, skip_missed, unschedule | an entry as long as its schedule |
//! | `hero:schedule:{id}` | hash | schedule, create, skip_missed | until it is deleted, or a week after its last occurrence |
//! | `hero:schedule:{id}:waiting` | list | create: jobs of a schedule that queues them | with its schedule |
//! | `hero:meta:collections` | set | set_object, declare_indexes | a member until its collection is dropped, or has no objects and no indexes |
//! | `hero:osis:{collection}` | hash | set_object, declare_indexes: its indexes | with its collection |
//! | `hero:osis:{collection}:objects` · `:entries` · `:ids` | hash · hash · zset | set_object, delete_object, fill_index: objects as JSON, what stands in indexes for each, their ids in order | until deleted |
//! | `hero:osis:{collection}:index:{field}` | zset | set_object, delete_object, fill_index | until its objects are deleted, or the collection is dropped |
//! | `actor:{n}` | hash, in context 0 only | set_identity, delete_identity; foreign programs: identities, fields as in the coordinator's specification | until deleted |
//! | `hero:access:identities` · `:numbers` · `:pubkeys` · `:tokens` · `:tokens:of:{n}` | zset · zset · hash · hash · set, in context 0 only | set_identity, admit_identities, delete_identity, create_token, log_in, revoke_token; numbers: those behind the last one that was given here which identities of other programs have, or had | an entry as long as its identity or token; of numbers until some are given beyond it, 50,000 at most |
//! | `hero:access:nonce:{random}` | string, in context 0 only | log_in: a nonce that was used | six minutes at most |
//! | `hero:meta:access` | hash, in context 0 only | set_identity: the number of the last identity; whoever ends tokens or changes rights: a revision; whoever changes a context: that it is about to (`changing:…`); note_login: whether callers have to log in | for ever |
//! | `context:{n}` | hash | found_context, set_context, grant, close_context: who has which rights in this context, and its limits; fields as in the coordinator's specification | until the context is deleted |
//! | `runner:{n}` · `hero:meta:runners` · `hero:meta:runners:taken` · `hero:meta:topics` | hash · zset · zset · zset by number | set_runner, delete_runner; foreign programs: runners, fields as in the coordinator's specification · their numbers, in order · those behind the last one that was given here which runners of others have, or had · the topics that they were given | until deleted; of those taken until numbers are given beyond, 10,000 at most |
//! | `message:{caller}:{n}` · `msg_out` · `msg_out:sending:{hand}` · `msg_in` · `hero:q:sent:{group}` | hash · lists | send_message, send_jobs, tend_messages, receive_message, receive_result; foreign programs | its time and a week · while not empty; 10,000 at most, of a runner 256, an hour longer than `timeout_ack` |
//! | `hero:q:unsent` | zset by ms | whoever stores a message that goes out; tend_messages, where a foreign program did: those of which nobody has said what became of them, by when they end | an entry until somebody says that, or its time is over |
//! | `hero:q:awaited:{group}` | zset by ms | settle_message: messages with jobs of a runner whose result is awaited | an entry until it is there, or its time over; 2,500 at most |
//! | `hero:q:messages` · `:resting` · `:answers` · `:results` · `hero:meta:nonces` · `hero:meta:nodes` | zset by ms, results: list | settle_message: whose result is awaited, and what did not arrive · receive_message: jobs to be answered · their ends · messages that came, by signer and nonce · tend_messages: servers that send | an entry until that is done, or its time over |
//! | `hero:q:stops` · `hero:q:stops:{group}` · `hero:came:{signer}:{nonce}` | zset by ms · zset by ms · string | stop, control, settle_message, settle_stop, tend_messages: runners of whose jobs some ended here, by when the next is told · the messages of those, until the other side is told · receive_message: what a message is called here whose number another has | a day after the last, 2,500 entries of a runner at most · as long as that message |
//! | `hero:meta:known` | hash by signer | receive_message, receive_stop: how many of `hero:meta:nonces` are of each, and of all (`all`) | as long as there are such |
//! | `hero:messages:{status}` | zset by ms | whoever stores a message, or changes its status | an entry as long as it has that status, 10,000 at most; 40 days after the last |
//! | `hero:bus:box:{whom}` · `hero:bus:letter:{whom}:{nonce}` · `hero:bus:receipt:{nonce}` | zset by ms · string · string | the Redis bus of the other side, and of this one: letters for a node (`in`: whoever serves the context), and what became of them | an hour after the last · an hour · 10 min |
//! | `hero:seq:{kind}` · `hero:meta:revisions` | number · hash by kind | whoever makes an object of the coordinator (`runner`, `flow`, `message`, `job`): the last number · whoever changes what servers follow (`runners`), or who waits for whom (`relations`): raises it | for ever |
//! | `hero:access:contexts` | zset, in context 0 only | new_context, note_context, forget_context: the contexts that exist, by the revision of their last change; below 0: since when one is being made, ms | an entry as long as its context |
//! | `hero:meta:closed` | string | close_context, bury_context: the context is being deleted | a day longer than its context |
//! | `hero:meta:rate` | string | create, create_flow, receive_message, make_runner_jobs, where jobs per second are limited: up to when they are used up, and when that was noted, ms | as long as they are |
//! | `hero:meta:stored` | string | set_object, delete_object, drop_collection: bytes of all objects | for ever |
//! | `hero:events` | stream | every transition | about 200,000 entries |
//! | `hero:log:{id}` | stream | the actor, or `hero_log` | as long as its job |
//! | `hero:index:{yyyymmddhh}` | list | create, and whoever first sees a foreign job | trimmed by the pruner |
//! | `hero:index:error` | zset by ms | every end in error, and the pruner, whose mark (a member `''`) says that none is missing | an entry until its job is retried or gone |
//! | `hero:index:left` | zset by ms | discover: foreign jobs that were left long ago without an end | an entry until its job is gone or ends |
//! | `hero:index:{yyyymmddhh}:front` | list | prune: the front part of that list | while ids of jobs that are gone are taken out |
//! | `hero:staged:{group}` | hash | create: what is known, by their keys, of jobs that commit_jobs is about to create together | until they are at their places, or the releaser takes them away (`hero:q:staged`); 30 days |
//! | `hero:staged:{group}:{place}` · `:lines` · `:held` | hash · list · list | create: these jobs · what is to be done then, which commit_jobs adds to · hold_dependents: jobs that wait for one of these | the same |
//! | `hero:idem:{sha256}` | hash | create, link_jobs, the releaser · create_flow · schedule | 24 h |
//! | `hero:work_queue:{worker}` · `hero:job:actor_queue:{t}` · `hero:job:{worker}` | list | foreign clients; create, start, fetch, promote, reap as shadows | while not empty |
//! | `hero:reply:{id}` | list | the end of a job that came so or has a shadow; foreign actors | 5 min |
//! | `rhai_tasks:{circle}` · `rhai_task_details:{id}` | list · hash | foreign clients · and every transition | while not empty · as long as its job |
//! | `queue:{t}` · `job:{caller}:{n}` | list · hash | foreign clients, create_flow · and every transition | while not empty · as long as its job |
//! | `flow:{n}` | hash | create_flow, advance_flow, every transition of a job of it: fields as in the coordinator's specification | 7 days after its end, or its retention; 7 days if nobody starts it |
//! | `hero:meta:flows` | zset by number | create_flow, advance_flow | an entry as long as its flow |
//! | `hero:q:flows` | zset by ms | create_flow, advance_flow, an end of a job in error, or of the last one: flows with all of whose jobs something is to be done | an entry until that is done |
//! | `hero:bell:{ctx}:{t}` · `hero:inbox:{server}` | channel | whoever pushes · fetch, stop | hints only |
//!
//! A job that stands in a list of `hero:rel` says so in its hash (`waits:{list}:{id}`), else the entry counts for nothing.
//!
//! Conveyor's own keys are in [`ConveyorKeys`]. Standalone, context N is database N and keys have no prefix; in Redis Cluster every key of context N begins with the
//! hash tag `{ctx:N}:`. Channels always name their context, because pub/sub ignores databases.

mod access;
mod conveyor;
mod coordinator;
mod flows;
mod groups;
mod indexes;
mod kinds;
mod layouts;
mod objects;
mod schedules;
#[cfg(test)]
mod tests;

pub use conveyor::ConveyorKeys;
pub use kinds::Kind;

use hero_model::{ContextId, IdentityId, JobId, Name, Priority, Queue, ScriptType, Target};

/// The keys of one context.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Keys {
    context: ContextId,
    prefix: String,
}

impl Keys {
    /// Keys without a prefix, for a context that has a database of its own.
    pub fn standalone(context: ContextId) -> Self {
        Self { context, prefix: String::new() }
    }

    /// Keys that share the hash tag of their context, for Redis Cluster.
    pub fn clustered(context: ContextId) -> Self {
        Self { context, prefix: format!("{{ctx:{context}}}:") }
    }

    /// The context whose keys these are.
    pub fn context(&self) -> ContextId {
        self.context
    }

    /// What every key of the context begins with. Functions build the keys of jobs they meet from it.
    pub fn prefix(&self) -> &str {
        &self.prefix
    }

    fn key(&self, rest: std::fmt::Arguments<'_>) -> String {
        format!("{}hero:{rest}", self.prefix)
    }

    /// The hash of a job.
    pub fn job(&self, id: &JobId) -> String {
        self.key(format_args!("job:{id}"))
    }

    /// The work queue of a script type, target and priority.
    pub fn work(&self, queue: &Queue) -> String {
        self.work_at(
            &queue.script_type,
            &queue.target,
            match queue.priority {
                Priority::Urgent => ":prio:0",
                Priority::Normal => "",
                Priority::Low => ":prio:2",
            },
        )
    }

    /// The second name of a work queue of normal priority, which only foreign clients use.
    pub fn work_prio_1(&self, script_type: &ScriptType, target: &Target) -> String {
        self.work_at(script_type, target, ":prio:1")
    }

    fn work_at(&self, script_type: &ScriptType, target: &Target, suffix: &str) -> String {
        match target {
            Target::Type => self.key(format_args!("q:work:type:{script_type}{suffix}")),
            Target::Group(group) => self.key(format_args!("q:work:type:{script_type}:group:{group}{suffix}")),
            Target::Instance(group, instance) => self.key(format_args!("q:work:type:{script_type}:group:{group}:inst:{instance}{suffix}")),
        }
    }

    /// The work queue that a key names, if it is one.
    pub fn parse_work(&self, key: &str) -> Option<Queue> {
        let rest = key.strip_prefix(&self.prefix)?.strip_prefix("hero:q:work:type:")?;
        let mut parts = rest.split(':');
        let script_type = parts.next()?.parse().ok()?;
        let mut queue = Queue { script_type, target: Target::Type, priority: Priority::Normal };
        while let (Some(word), Some(value)) = (parts.next(), parts.next()) {
            match (word, &queue.target) {
                ("group", Target::Type) => queue.target = Target::Group(value.parse().ok()?),
                ("inst", Target::Group(group)) => queue.target = Target::Instance(group.clone(), value.parse().ok()?),
                ("prio", _) => queue.priority = value.parse::<u8>().ok()?.try_into().ok()?,
                _ => return None,
            }
        }
        Some(queue)
    }

    /// Stop requests for all actors of a script type.
    pub fn control(&self, script_type: &ScriptType) -> String {
        self.key(format_args!("q:ctl:type:{script_type}"))
    }

    /// Stop requests for one actor.
    pub fn control_instance(&self, script_type: &ScriptType, group: &Name, instance: u32) -> String {
        self.key(format_args!("q:ctl:type:{script_type}:group:{group}:inst:{instance}"))
    }

    /// The result of a job, for clients that block on it.
    pub fn reply(&self, id: &JobId) -> String {
        self.key(format_args!("q:reply:{id}"))
    }

    /// Delayed jobs and waiting retries, by due time.
    pub fn scheduled(&self) -> String {
        self.key(format_args!("q:scheduled"))
    }

    /// Running jobs, by the time their lease is over.
    pub fn leases(&self) -> String {
        self.key(format_args!("q:leases"))
    }

    /// Ids that came before their hash, by the time to look again; the member also names the queue.
    pub fn unwritten(&self) -> String {
        self.key(format_args!("q:unwritten"))
    }

    /// Jobs in queues and jobs of foreign actors, by the time to look at them again.
    pub fn watched(&self) -> String {
        self.key(format_args!("q:watched"))
    }

    /// Queues from which nothing is taken, by the keys of their normal priority.
    pub fn paused(&self) -> String {
        self.key(format_args!("meta:paused"))
    }

    /// Queues that keep jobs sorted by caller.
    pub fn fair(&self) -> String {
        self.key(format_args!("meta:fair"))
    }

    /// Queues in which ids were left whose jobs do not run from there.
    pub fn with_left(&self) -> String {
        self.key(format_args!("meta:left"))
    }

    /// The ids that were left in a work queue, named by its key, and how often.
    pub fn left(&self, work: &str) -> String {
        let rest = work.strip_prefix(&self.prefix).and_then(|key| key.strip_prefix("hero:q:work:")).unwrap_or(work);
        self.key(format_args!("q:left:{rest}"))
    }

    /// The script types that found no room in their context, by when that was.
    pub fn capped(&self) -> String {
        self.key(format_args!("q:capped"))
    }

    /// What a work queue, named by its key, keeps of jobs sorted by caller: `ring`, `held`, or `of:` and a digest of the caller.
    pub fn fair_part(&self, work: &str, what: &str) -> String {
        let rest = work.strip_prefix(&self.prefix).and_then(|key| key.strip_prefix("hero:q:work:")).unwrap_or(work);
        self.key(format_args!("q:fair:{rest}:{what}"))
    }

    /// Jobs that ended and whose relatives are still to be released.
    pub fn release(&self) -> String {
        self.key(format_args!("q:release"))
    }

    /// Jobs of the conveyor layout that ended and are to be closed, by the time to look.
    pub fn conveyor_ends(&self) -> String {
        self.key(format_args!("q:conveyor"))
    }

    /// The keys of conveyor clients in this context.
    pub fn conveyor(&self, namespace: Option<&Name>) -> ConveyorKeys {
        ConveyorKeys::within(self, namespace)
    }

    /// The jobs that wait until a job has finished.
    pub fn dependents(&self, id: &JobId) -> String {
        self.key(format_args!("rel:{id}:dependents"))
    }

    /// The children of a job that wait until its script has returned.
    pub fn children(&self, id: &JobId) -> String {
        self.key(format_args!("rel:{id}:children"))
    }

    /// The children of a job that may run and are not closed.
    pub fn active(&self, id: &JobId) -> String {
        self.key(format_args!("rel:{id}:active"))
    }

    /// The continuations of a job: they wait until it and all its descendants have ended.
    pub fn continuations(&self, id: &JobId) -> String {
        self.key(format_args!("rel:{id}:onComplete"))
    }

    /// The script types that only our actors take; the key has an older word for them.
    pub fn native_only(&self) -> String {
        self.key(format_args!("meta:calm"))
    }

    /// Script types, by the time of the last sign that a foreign actor takes them.
    pub fn foreign(&self) -> String {
        self.key(format_args!("meta:foreign"))
    }

    /// What a live actor says of itself.
    pub fn presence(&self, script_type: &ScriptType, group: &Name, instance: u32) -> String {
        self.key(format_args!("meta:actor:inst:{script_type}:{group}:{instance}"))
    }

    /// What the keys of all presences look like, for SCAN.
    pub fn presence_pattern(&self) -> String {
        self.key(format_args!("meta:actor:inst:*"))
    }

    /// The actor that a presence key names, if it is one.
    pub fn parse_presence(&self, key: &str) -> Option<(ScriptType, Name, u32)> {
        let rest = key.strip_prefix(&self.prefix)?.strip_prefix("hero:meta:actor:inst:")?;
        let mut parts = rest.split(':');
        let actor = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
        parts.next().is_none().then_some(actor)
    }

    /// Says that a server lives, although its actors lost their registrations to others.
    pub fn displaced(&self, server: &str) -> String {
        self.key(format_args!("meta:displaced:{server}"))
    }

    /// What the keys of all jobs, indexes and counters look like, for SCAN. Some others do, too.
    ///
    /// In context 0 `actor:{n}` does, too: one SCAN takes one pattern, and this one is of both beginnings.
    pub fn walk_pattern(&self) -> String {
        if self.context == ContextId(0) {
            return format!("{}[ah][ce][rt]o[r:][ijm:]*", self.prefix);
        }
        self.key(format_args!("[ijm]*"))
    }

    /// The identity that a key names, if it is one.
    pub fn parse_identity(&self, key: &str) -> Option<IdentityId> {
        let number = key.strip_prefix(&self.prefix)?.strip_prefix("actor:")?;
        IdentityId::of_caller(number)
    }

    /// The job that a key names, if it is one.
    pub fn parse_job(&self, key: &str) -> Option<JobId> {
        key.strip_prefix(&self.prefix)?.strip_prefix("hero:job:")?.parse().ok()
    }

    /// The presence keys of actors that were seen.
    pub fn actors(&self) -> String {
        self.key(format_args!("meta:actors"))
    }

    /// The work queues that were used.
    pub fn queues(&self) -> String {
        self.key(format_args!("meta:queues"))
    }

    /// Counters of a script type.
    pub fn stats(&self, script_type: &ScriptType) -> String {
        self.key(format_args!("meta:queue:stats:{script_type}"))
    }

    /// The script type whose counters a key names.
    pub fn parse_stats(&self, key: &str) -> Option<ScriptType> {
        key.strip_prefix(&self.prefix)?.strip_prefix("hero:meta:queue:stats:")?.parse().ok()
    }

    /// The counters that exist, by their keys.
    pub fn types(&self) -> String {
        self.key(format_args!("meta:types"))
    }

    /// When leases were last looked at, and until when none is over.
    pub fn reaped(&self) -> String {
        self.key(format_args!("meta:reaped"))
    }

    /// What tells this Redis from every other.
    pub fn redis_id(&self) -> String {
        self.key(format_args!("meta:identity"))
    }

    /// Every state change.
    pub fn events(&self) -> String {
        self.key(format_args!("events"))
    }

    /// The log lines of a job.
    pub fn log(&self, id: &JobId) -> String {
        self.key(format_args!("log:{id}"))
    }

    /// The job, flow or schedule that an idempotency key stands for; `digest` is the SHA-256 of caller and key.
    pub fn idempotency(&self, digest: &str) -> String {
        self.key(format_args!("idem:{digest}"))
    }

    /// The channel that says that work of a type arrived; its name in Redis has an older word for it.
    pub fn wake_up(&self, script_type: &ScriptType) -> String {
        format!("hero:bell:{}:{script_type}", self.context)
    }

    /// What all channels of replies begin with; a server's id follows.
    pub fn inbox_prefix() -> &'static str {
        "hero:inbox:"
    }
}
