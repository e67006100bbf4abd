#![doc = include_str!("keys.md")]

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

    /// The context of these keys.
    pub fn context(&self) -> ContextId {
        self.context
    }

    /// The prefix of every key of the context. Functions build the keys of other jobs from it.
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
    pub(crate) fn work_prio_1(&self, script_type: &ScriptType, target: &Target) -> String {
        self.work_at(script_type, target, ":prio:1")
    }

    fn work_at(&self, script_type: &ScriptType, target: &Target, suffix: &str) -> String {
        match target {
            Target::Type => self.key(format_args!("q:work:type:{script_type}{suffix}")),
            Target::Group(group) => self.key(format_args!("q:work:type:{script_type}:group:{group}{suffix}")),
            Target::Instance(group, instance) => self.key(format_args!("q:work:type:{script_type}:group:{group}:inst:{instance}{suffix}")),
        }
    }

    /// Returns the work queue that a key names, if it names one.
    pub(crate) fn parse_work(&self, key: &str) -> Option<Queue> {
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

    /// Running jobs, by the end of their lease.
    pub fn leases(&self) -> String {
        self.key(format_args!("q:leases"))
    }

    /// Ids that arrived before their hash, by the time of the next check. The member also names the queue.
    pub fn unwritten(&self) -> String {
        self.key(format_args!("q:unwritten"))
    }

    /// Queued jobs and jobs of foreign actors, by the time of the next check.
    pub fn watched(&self) -> String {
        self.key(format_args!("q:watched"))
    }

    /// Paused queues, by the keys of their normal priority.
    pub fn paused(&self) -> String {
        self.key(format_args!("meta:paused"))
    }

    /// Queues that keep jobs sorted by caller.
    pub fn fair(&self) -> String {
        self.key(format_args!("meta:fair"))
    }

    /// Queues that hold stale ids, whose jobs do not run from there.
    pub fn with_left(&self) -> String {
        self.key(format_args!("meta:left"))
    }

    /// The stale ids in a work queue, named by its key, and how often each occurs.
    pub fn left(&self, work: &str) -> String {
        let rest = work.strip_prefix(&self.prefix).and_then(|key| key.strip_prefix("hero:q:work:")).unwrap_or(work);
        self.key(format_args!("q:left:{rest}"))
    }

    /// The script types that found no room in their context, by the time when that happened.
    pub fn capped(&self) -> String {
        self.key(format_args!("q:capped"))
    }

    /// A part of the jobs that a work queue, named by its key, keeps sorted by caller: `ring`, `held`, or `of:` and a digest of the caller.
    pub fn fair_part(&self, work: &str, what: &str) -> String {
        let rest = work.strip_prefix(&self.prefix).and_then(|key| key.strip_prefix("hero:q:work:")).unwrap_or(work);
        self.key(format_args!("q:fair:{rest}:{what}"))
    }

    /// Jobs that ended and whose relatives are still to be released.
    pub fn release(&self) -> String {
        self.key(format_args!("q:release"))
    }

    /// Jobs of the conveyor layout that ended and are to be closed, by the time of the next check.
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

    /// The children of a job that may run and have not closed.
    pub fn active(&self, id: &JobId) -> String {
        self.key(format_args!("rel:{id}:active"))
    }

    /// The continuations of a job: they wait until it and all its descendants have ended.
    pub fn continuations(&self, id: &JobId) -> String {
        self.key(format_args!("rel:{id}:onComplete"))
    }

    /// The script types that only actors of hero take; the key has an older word for them.
    pub fn native_only(&self) -> String {
        self.key(format_args!("meta:calm"))
    }

    /// Script types, by the time of the last sign of a foreign actor that takes them.
    pub fn foreign(&self) -> String {
        self.key(format_args!("meta:foreign"))
    }

    /// The presence of a live actor.
    pub fn presence(&self, script_type: &ScriptType, group: &Name, instance: u32) -> String {
        self.key(format_args!("meta:actor:inst:{script_type}:{group}:{instance}"))
    }

    /// The pattern of all presence keys, for SCAN.
    pub(crate) fn presence_pattern(&self) -> String {
        self.key(format_args!("meta:actor:inst:*"))
    }

    /// Returns the actor that a presence key names, if it names one.
    pub(crate) fn parse_presence(&self, key: &str) -> Option<(ScriptType, Name, u32)> {
        let rest = key.strip_prefix(&self.prefix)?.strip_prefix("hero:meta:actor:inst:")?;
        let mut parts = rest.split(':');
        let actor = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
        parts.next().is_none().then_some(actor)
    }

    /// The sign of life of a server whose actors lost their registrations to others.
    pub fn displaced(&self, server: &str) -> String {
        self.key(format_args!("meta:displaced:{server}"))
    }

    /// The pattern of the keys of all jobs, indexes and counters, for SCAN. Some other keys match, too.
    ///
    /// In context 0 the keys `actor:{n}` match as well, because one SCAN takes one pattern, which must cover both prefixes.
    pub(crate) fn walk_pattern(&self) -> String {
        if self.context == ContextId(0) {
            return format!("{}[ah][ce][rt]o[r:][ijm:]*", self.prefix);
        }
        self.key(format_args!("[ijm]*"))
    }

    /// Returns the identity that a key names, if it names one.
    pub(crate) fn parse_identity(&self, key: &str) -> Option<IdentityId> {
        let number = key.strip_prefix(&self.prefix)?.strip_prefix("actor:")?;
        IdentityId::of_caller(number)
    }

    /// Returns the job that a key names, if it names one.
    pub(crate) fn parse_job(&self, key: &str) -> Option<JobId> {
        key.strip_prefix(&self.prefix)?.strip_prefix("hero:job:")?.parse().ok()
    }

    /// The presence keys of known actors.
    pub fn actors(&self) -> String {
        self.key(format_args!("meta:actors"))
    }

    /// The work queues that have been used.
    pub fn queues(&self) -> String {
        self.key(format_args!("meta:queues"))
    }

    /// Counters of a script type.
    pub fn stats(&self, script_type: &ScriptType) -> String {
        self.key(format_args!("meta:queue:stats:{script_type}"))
    }

    /// Returns the script type whose counters a key names.
    pub(crate) fn parse_stats(&self, key: &str) -> Option<ScriptType> {
        key.strip_prefix(&self.prefix)?.strip_prefix("hero:meta:queue:stats:")?.parse().ok()
    }

    /// The existing counters, by their keys.
    pub fn types(&self) -> String {
        self.key(format_args!("meta:types"))
    }

    /// The time of the last check of leases, and the time until which no lease ends.
    pub fn reaped(&self) -> String {
        self.key(format_args!("meta:reaped"))
    }

    /// The identity of this Redis.
    pub fn redis_id(&self) -> String {
        self.key(format_args!("meta:identity"))
    }

    /// The stream of all state changes.
    pub fn events(&self) -> String {
        self.key(format_args!("events"))
    }

    /// The log lines of a job.
    pub fn log(&self, id: &JobId) -> String {
        self.key(format_args!("log:{id}"))
    }

    /// The job, flow or schedule of an idempotency key; `digest` is the SHA-256 of caller and key.
    pub fn idempotency(&self, digest: &str) -> String {
        self.key(format_args!("idem:{digest}"))
    }

    /// The channel that announces new work of a type; its name in Redis has an older word for it.
    pub fn wake_up(&self, script_type: &ScriptType) -> String {
        format!("hero:bell:{}:{script_type}", self.context)
    }

    /// The channel that announces what is due soon.
    pub fn alarm(&self) -> String {
        format!("hero:alarm:{}", self.context)
    }

    /// The prefix of all reply channels; a server's id follows.
    pub fn inbox_prefix() -> &'static str {
        "hero:inbox:"
    }
}
