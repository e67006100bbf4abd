//! Every Redis key: its pattern, its type, its contents, its writers and its lifetime.
//!
//! Writers are files of `src/lua/functions`, loops (the releaser, the pruner …), and other programs. Times in sorted sets are milliseconds
//! since 1970 ("by ms"). An entry or a member is removed as the last column says; everything else is the lifetime of the whole key.
//!
//! ## Jobs
//!
//! | key | type | contents | written by | lifetime |
//! | --- | --- | --- | --- | --- |
//! | `hero:job:{id}` | hash | a job; `asked`: the answer to the last host call that wrote something | create, fetch, every transition, set_object, delete_object, drop_index; foreign clients and actors | its retention, after its end |
//! | `hero:log:{id}` | stream | the log of a job | the actor, `hero_log` | that of its job |
//! | `hero:events` | stream | the changes of all jobs | every transition | about 200,000 entries |
//! | `hero:idem:{sha256}` | hash | the job, flow or schedule of an idempotency key | create, link_jobs, the releaser, create_flow, schedule | 24 h |
//!
//! Jobs that are created together are staged as a group first:
//!
//! | key | type | contents | written by | lifetime |
//! | --- | --- | --- | --- | --- |
//! | `hero:staged:{group}` | hash | what is known of the jobs of the group, by their keys | create | until all jobs are at their places, or the releaser removes the group; 30 days |
//! | `hero:staged:{group}:{place}` | hash | a job of the group | create | that of `hero:staged:{group}` |
//! | `hero:staged:{group}:lines` | list | the steps that follow once the jobs exist | create, commit_jobs | that of `hero:staged:{group}` |
//! | `hero:staged:{group}:held` | list | existing jobs that wait for a job of the group | hold_dependents | that of `hero:staged:{group}` |
//! | `hero:q:staged` | zset by ms | staged groups with their number of places, by the time of their removal; 0: their removal has begun | create | an entry until commit_jobs, unstage_jobs or the releaser takes it |
//! | `hero:q:holding` | zset by ms | staged groups that existing jobs wait for | hold_dependents | an entry until commit_jobs, unstage_jobs or the releaser takes it |
//! | `hero:q:created` | list | committed groups whose jobs are still to be put into their places and linked to their prerequisites | commit_jobs | an entry until link_jobs or the releaser has done that |
//!
//! ## Queues
//!
//! | key | type | contents | written by | lifetime |
//! | --- | --- | --- | --- | --- |
//! | `hero:q:work:type:{t}[:group:{g}[:inst:{i}]][:prio:{0,1,2}]` | list | jobs that are ready to run | create, and every function that makes a job ready (`queues.push`); foreign clients | while not empty |
//! | `hero:q:ctl:type:{t}[:group:{g}:inst:{i}]` | list | jobs to stop | stop; foreign clients | 60 s |
//! | `hero:stop_queue:{worker}` | list | jobs to stop that a foreign actor runs | stop | 60 s |
//! | `hero:q:reply:{id}` | list | the output or error of a job | every end; foreign actors | 5 min |
//! | `hero:q:scheduled` | zset by ms | delayed jobs and retries, by their due time | every function that delays a job or a retry | an entry until it is due |
//! | `hero:q:leases` | zset by ms | running jobs, by the end of their lease; jobs that are away by 10^14 ms more | create, fetch, renew, recover | an entry until the job leaves its actor, or its result arrives |
//! | `hero:q:watched` | zset by ms | enqueued jobs and jobs of foreign actors, by the time of their next check | every function that enqueues a job | an entry until an actor of ours takes the job, or the job ends |
//! | `hero:q:unwritten` | zset by ms | ids whose hash does not exist yet | fetch, import_queues | an entry 5 s, and 5 s more if nobody looked for a while |
//! | `hero:q:capped` | zset by ms | script types that found no room in their context | fetch | an entry 5 s |
//! | `hero:q:fair:{…}:ring` | list | the callers with jobs from the queue `hero:q:work:{…}` | fetch | while not empty |
//! | `hero:q:fair:{…}:of:{caller}` | list | the jobs of one of them | fetch | while not empty |
//! | `hero:q:fair:{…}:held` | number | the number of jobs from that queue that are sorted by caller | fetch | while there are any |
//! | `hero:meta:fair` | set | queues whose jobs are sorted by caller | fetch | a member until these jobs are taken |
//! | `hero:q:left:{…}` | hash | ids that are left far back in the queue `hero:q:work:{…}` though their jobs do not run from it any more, with their number; `all`: of all | stop, control, delete | until the ids have come out of the queue; 30 days after the last one |
//! | `hero:meta:left` | set | the queues with such ids | stop, control, delete | a member until the ids have come out of its queue; 30 days after the last one |
//! | `hero:meta:queues` | set | work queues | every function that pushes into one | swept by the pruner |
//! | `hero:meta:paused` | set | paused queues | pause | a member until its queue is resumed |
//! | `hero:meta:queue:stats:{t}` | hash | the counters of a script type | every transition | 30 days after the last change; at most 1,000 types |
//! | `hero:meta:types` | set | keys of such counters | the first writer of one, the indexer | swept by the pruner |
//! | `hero:meta:reaped` | string | when leases were last checked, and until when none of them ends, ms; after a setback of the clock also its size, and the progress of the search through waiting jobs | reap | a day |
//!
//! ## Relations
//!
//! A job in one of these lists names the list in its hash (`waits:{list}:{id}`), else its entry is ignored.
//!
//! | key | type | contents | written by | lifetime |
//! | --- | --- | --- | --- | --- |
//! | `hero:rel:{id}:dependents` | list | jobs that wait for the job as a prerequisite | every function that links a job | until they are released |
//! | `hero:rel:{id}:children` | list | child jobs that wait for the job | every function that links a job | until they are released |
//! | `hero:rel:{id}:onComplete` | list | continuations of the job | every function that links a job | until they are released |
//! | `hero:rel:{id}:active` | set | children of the job that may run | release, and every function that links a job | a member until that child is closed |
//! | `hero:q:release` | list | ended jobs with relations | every end of such a job | an entry until its relatives are released |
//!
//! ## Actors and servers
//!
//! | key | type | contents | written by | lifetime |
//! | --- | --- | --- | --- | --- |
//! | `hero:meta:actor:inst:{t}:{g}:{i}` | string | the heartbeat of an actor | the actor | 15 s |
//! | `hero:meta:actors` | set | actors | actors | swept by the pruner |
//! | `hero:meta:displaced:{server}` | string | a live server whose actors lost their registrations | that server | 15 s |
//! | `hero:meta:calm` | set | script types whose jobs only our actors take | the surveyor, reap | while the surveyor renews it |
//! | `hero:meta:foreign` | zset by ms | script types with foreign clients or actors, by their last sign | the surveyor, reap | while signs count |
//! | `hero:meta:identity` | string | 32 random digits that tell this Redis from others | the first job with a log file | for ever |
//!
//! ## Schedules
//!
//! | key | type | contents | written by | lifetime |
//! | --- | --- | --- | --- | --- |
//! | `hero:schedule:{id}` | hash | a schedule | schedule, create, skip_missed | until it is deleted, or a week after its last occurrence |
//! | `hero:schedule:{id}:waiting` | list | queued jobs of a schedule that queues them | create | that of its schedule |
//! | `hero:meta:schedules` | zset by ms | schedules, by their next occurrence | schedule, create, skip_missed, unschedule | an entry as long as its schedule |
//!
//! ## Objects
//!
//! | key | type | contents | written by | lifetime |
//! | --- | --- | --- | --- | --- |
//! | `hero:meta:collections` | set | collections | set_object, declare_indexes | a member until its collection is dropped, or has no objects and no indexes |
//! | `hero:osis:{collection}` | hash | the indexes of a collection | set_object, declare_indexes | that of its collection |
//! | `hero:osis:{collection}:objects` | hash | its objects as JSON | set_object, delete_object, fill_index | a field until its object is deleted |
//! | `hero:osis:{collection}:entries` | hash | the index entries of each object | set_object, delete_object, fill_index | a field until its object is deleted |
//! | `hero:osis:{collection}:ids` | zset | the ids of its objects in order | set_object, delete_object, fill_index | an entry until its object is deleted |
//! | `hero:osis:{collection}:index:{field}` | zset | an index of its objects | set_object, delete_object, fill_index | until its objects are deleted, or the collection is dropped |
//! | `hero:meta:stored` | string | the size of all objects, bytes | set_object, delete_object, drop_collection | for ever |
//!
//! ## Access
//!
//! These keys exist in context 0 only. The fields of an identity are those of the coordinator's specification.
//!
//! | key | type | contents | written by | lifetime |
//! | --- | --- | --- | --- | --- |
//! | `actor:{n}` | hash | an identity | set_identity, delete_identity; foreign programs | until it is deleted |
//! | `hero:access:identities` | zset | the numbers of identities | set_identity, admit_identities, delete_identity | an entry as long as its identity |
//! | `hero:access:numbers` | zset | numbers above the last one given here that identities of other programs have or had | set_identity, admit_identities, delete_identity, create_token, log_in | an entry until numbers above it are given; at most 50,000 |
//! | `hero:access:pubkeys` | hash | identities by their public key, and public keys by their identity (`of:{n}`) | set_identity, admit_identities, delete_identity | a field as long as its identity |
//! | `hero:access:tokens` | hash | tokens | create_token, log_in, revoke_token, delete_identity | a field as long as its token |
//! | `hero:access:tokens:of:{n}` | set | the tokens of an identity | create_token, log_in, revoke_token, delete_identity | a member as long as its token |
//! | `hero:access:nonce:{random}` | string | a nonce that was used for a login | log_in | at most 6 min |
//! | `hero:meta:access` | hash | `last`: the last number of an identity; `revision`: grows when tokens end or rights change; `changing:…`: a context is about to change; `login`: whether callers have to log in | set_identity, every function that ends tokens or changes rights, announce_change, note_login | for ever |
//!
//! ## Contexts
//!
//! | key | type | contents | written by | lifetime |
//! | --- | --- | --- | --- | --- |
//! | `context:{n}` | hash | the rights in this context, and its limits; fields as in the coordinator's specification | found_context, set_context, grant, close_context | until the context is deleted |
//! | `hero:access:contexts` | zset | in context 0 only: existing contexts, by the revision of their last change; a negative score is the time at which the creation of the context began, ms | new_context, note_context, forget_context | an entry as long as its context |
//! | `hero:meta:closed` | string | the context is being deleted | close_context, bury_context | a day longer than its context |
//! | `hero:meta:rate` | string | where jobs per second are limited: until when they are used up, and when that was noted, ms | create, create_flow, receive_message, make_runner_jobs | until then |
//!
//! ## Runners
//!
//! The fields of a runner are those of the coordinator's specification.
//!
//! | key | type | contents | written by | lifetime |
//! | --- | --- | --- | --- | --- |
//! | `runner:{n}` | hash | a runner | set_runner, delete_runner; foreign programs | until it is deleted |
//! | `hero:meta:runners` | zset | the numbers of runners, in order | set_runner, delete_runner | an entry until its runner is deleted |
//! | `hero:meta:runners:taken` | zset | numbers above the last one given here that runners of other programs have or had | set_runner, delete_runner | an entry until numbers above it are given; at most 10,000 |
//! | `hero:meta:topics` | zset by number | the topics that runners were given | set_runner, delete_runner | an entry until its runner is deleted |
//! | `hero:seq:{kind}` | number | the last number of an object of the coordinator: `runner`, `flow`, `message`, `job` | every function that makes such an object | for ever |
//! | `hero:meta:revisions` | hash by kind | counters of changes: of runners, which servers follow, and of relations of jobs (`relations`) | every function that changes these | for ever |
//!
//! ## Messages
//!
//! | key | type | contents | written by | lifetime |
//! | --- | --- | --- | --- | --- |
//! | `message:{caller}:{n}` | hash | a message | send_message, send_jobs, tend_messages, receive_message, receive_result; foreign programs | its timeout and a week |
//! | `msg_out` | list | messages to send | send_message, send_jobs, tend_messages; foreign programs | while not empty; at most 10,000 |
//! | `msg_out:sending:{hand}` | list | messages that a node is sending | tend_messages | while not empty; at most 10,000 |
//! | `msg_in` | list | messages that came | receive_message, receive_result; foreign programs | while not empty; at most 10,000 |
//! | `hero:q:sent:{group}` | list | messages with jobs of a runner that were sent last | send_jobs | an hour longer than `timeout_ack`; at most 256 |
//! | `hero:q:unsent` | zset by ms | outgoing messages without a verdict, by their timeout | every function that stores an outgoing message; tend_messages for those of foreign programs | an entry until there is a verdict, or it timed out |
//! | `hero:q:awaited:{group}` | zset by ms | messages with jobs of a runner whose result is awaited | settle_message | an entry until the result arrives, or the message timed out; at most 2,500 |
//! | `hero:q:messages` | zset by ms | messages whose result is awaited | settle_message | an entry until the result arrives, or the message timed out |
//! | `hero:q:resting` | zset by ms | messages that did not arrive and are sent again later | settle_message | an entry until it is sent again, or timed out |
//! | `hero:q:answers` | zset by ms | jobs that came with a message, whose sender awaits an answer | receive_message | an entry until the job is answered, or timed out |
//! | `hero:q:results` | list | the ends of these jobs | every end of such a job | an entry until the job is answered |
//! | `hero:meta:nonces` | zset by ms | messages that came, by signer and nonce | receive_message, receive_stop | an entry until the message cannot come again |
//! | `hero:meta:known` | hash by signer | the number of entries of each signer in `hero:meta:nonces`; `all`: of all | receive_message, receive_stop | a field while there are such entries |
//! | `hero:meta:nodes` | zset by ms | servers that send | tend_messages | an entry until its server has been silent for a while |
//! | `hero:q:stops` | zset by ms | runners some of whose jobs ended here while they were away, by the time of the next notification | stop, control, settle_message, settle_stop, tend_messages | a day after the last job |
//! | `hero:q:stops:{group}` | zset by ms | the messages of such a runner that the other side is to be told of | stop, control, settle_message, settle_stop, tend_messages | a day after the last one, at most 2,500; an entry until the other side is told |
//! | `hero:came:{signer}:{nonce}` | string | the local name of a message whose number another message has | receive_message | that of its message |
//! | `hero:messages:{status}` | zset by ms | the messages of a status | every function that stores a message, or changes its status | an entry while it has that status, at most 10,000; 40 days after the last one |
//!
//! ## Bus
//!
//! | key | type | contents | written by | lifetime |
//! | --- | --- | --- | --- | --- |
//! | `hero:bus:box:{whom}` | zset by ms | envelopes for a node (`in`: for the server of this context) | the Redis buses of both sides | an hour after the last one |
//! | `hero:bus:letter:{whom}:{nonce}` | string | an envelope | the Redis bus of the sender | an hour |
//! | `hero:bus:receipt:{nonce}` | string | the receipt of an envelope | the Redis bus of the recipient | 10 min |
//!
//! ## Flows
//!
//! | key | type | contents | written by | lifetime |
//! | --- | --- | --- | --- | --- |
//! | `flow:{n}` | hash | a flow; fields as in the coordinator's specification | create_flow, advance_flow, every transition of a job of it | its retention, or 7 days, after its end; 7 days if nobody starts it |
//! | `hero:meta:flows` | zset by number | flows | create_flow, advance_flow | an entry as long as its flow |
//! | `hero:q:flows` | zset by ms | flows with a pending operation on all of their jobs | create_flow, advance_flow, the end of a job in error, the end of the last job | an entry until the operation is done |
//!
//! ## Indexes
//!
//! | key | type | contents | written by | lifetime |
//! | --- | --- | --- | --- | --- |
//! | `hero:index:{yyyymmddhh}` | list | the jobs of an hour | create, and the first function that sees a foreign job | trimmed by the pruner |
//! | `hero:index:{yyyymmddhh}:front` | list | the front part of that list | prune | while ids of deleted jobs are removed from it |
//! | `hero:index:error` | zset by ms | jobs that ended in error; a member `''` (the mark of the pruner) says that none is missing | every end in error, the pruner | an entry until its job is retried or gone |
//! | `hero:index:left` | zset by ms | foreign jobs that were left long ago without an end | discover | an entry until its job is gone or ends |
//! | `hero:meta:hours` | set | the keys of the indexes of hours | the first writer of one, the indexer | swept by the pruner |
//! | `hero:meta:strays` | hash by index key | how far ahead of the index and behind it the times of its foreign jobs are, ms; a field with `:back`: how far Redis' clock was set back | the first function that sees such a job, or that setback | swept by the pruner |
//!
//! ## Other layouts
//!
//! The keys of conveyor itself are in [`ConveyorKeys`].
//!
//! | key | type | contents | written by | lifetime |
//! | --- | --- | --- | --- | --- |
//! | `hero:work_queue:{worker}` | list | jobs of the legacy layout | foreign clients; create, start, fetch, promote, reap (shadows) | while not empty |
//! | `hero:job:actor_queue:{t}` | list | jobs of the legacy layout | foreign clients; create, start, fetch, promote, reap (shadows) | while not empty |
//! | `hero:job:{worker}` | list | jobs of the legacy layout | foreign clients; create, start, fetch, promote, reap (shadows) | while not empty |
//! | `hero:reply:{id}` | list | the output or error of such a job, or of one with a shadow | every end; foreign actors | 5 min |
//! | `rhai_tasks:{circle}` | list | tasks | foreign clients | while not empty |
//! | `rhai_task_details:{id}` | hash | a task | foreign clients, every transition | that of its job |
//! | `queue:{t}` | list | jobs of the runner layout | foreign clients, create_flow | while not empty |
//! | `job:{caller}:{n}` | hash | a job of the runner layout | foreign clients, create_flow, every transition | that of its job |
//! | `hero:q:conveyor` | zset by ms | ended jobs of the conveyor layout | every end of such a job | an entry until the job is closed or waits for its children |
//!
//! ## Channels
//!
//! Messages on channels are only hints.
//!
//! | key | type | contents | written by |
//! | --- | --- | --- | --- |
//! | `hero:bell:{ctx}:{t}` | channel | a queue of a script type has a job again | every function that pushes into one |
//! | `hero:inbox:{server}` | channel | results and stops for a server | fetch, stop |
//!
//! # Databases and prefixes
//!
//! Standalone, context N is database N and keys have no prefix. In Redis Cluster every key of context N begins with the hash tag `{ctx:N}:`.
//! Channels always name their context, because pub/sub ignores databases.

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
