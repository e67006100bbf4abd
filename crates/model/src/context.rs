//! Contexts as they are stored: the rights and limits of each.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ContextId, IdentityId, Role, Seconds, Timestamp};

/// The limits of a context. An absent value sets no limit. If the settings of a server have a limit, too, the lower one
/// applies.
#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ContextLimits {
    /// How many jobs may be created in a second.
    pub jobs_per_second: Option<u32>,
    /// How many jobs a queue may have.
    pub queue_length: Option<u32>,
    /// How many jobs may run at once, on all servers together. Jobs of runners elsewhere count there.
    pub max_running: Option<u32>,
    /// The maximum number of operations of a script.
    pub script_operations: Option<u32>,
    /// The maximum processor time of a job, in seconds.
    pub cpu_time: Option<Seconds>,
    /// How many bytes all objects may have together.
    pub objects_quota: Option<u64>,
    /// How many bytes the files written by scripts may have.
    pub files_quota: Option<u64>,
}

impl ContextLimits {
    /// Returns these limits with those of `given` in their place. Absent limits stay, and zero removes a limit.
    #[must_use]
    pub fn changed(self, given: Self) -> Self {
        fn one<T: PartialEq + Default>(before: Option<T>, given: Option<T>) -> Option<T> {
            given.or(before).filter(|limit| *limit != T::default())
        }
        Self {
            jobs_per_second: one(self.jobs_per_second, given.jobs_per_second),
            queue_length: one(self.queue_length, given.queue_length),
            max_running: one(self.max_running, given.max_running),
            script_operations: one(self.script_operations, given.script_operations),
            cpu_time: given.cpu_time.or(self.cpu_time).filter(|limit| !limit.duration().is_zero()),
            objects_quota: one(self.objects_quota, given.objects_quota),
            files_quota: one(self.files_quota, given.files_quota),
        }
    }
}

/// The status of a context.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ContextStatus {
    /// It accepts calls.
    #[default]
    Active,
    /// It is being deleted, and accepts no calls.
    Deleting,
}

/// A context with its roles and limits.
#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Context {
    /// Its number.
    pub context_id: ContextId,
    /// The identities that may do everything in it.
    #[serde(default)]
    pub admins: BTreeSet<IdentityId>,
    /// The identities that may create jobs.
    #[serde(default)]
    pub callers: BTreeSet<IdentityId>,
    /// The identities that may read everything.
    #[serde(default)]
    pub readers: BTreeSet<IdentityId>,
    /// The identities that may run jobs.
    #[serde(default)]
    pub executors: BTreeSet<IdentityId>,
    /// When it was created, or rights were first granted in it, to the second.
    pub created_at: Option<Timestamp>,
    /// When it was last changed, to the second.
    pub updated_at: Option<Timestamp>,
    /// Its purpose, in the words of its creator.
    pub name: Option<String>,
    /// Its limits.
    #[serde(default)]
    pub limits: ContextLimits,
    /// Its status.
    #[serde(default)]
    pub status: ContextStatus,
}

impl Context {
    /// Returns a context in which nobody has a role.
    pub fn none(context_id: ContextId) -> Self {
        Self {
            context_id,
            admins: BTreeSet::new(),
            callers: BTreeSet::new(),
            readers: BTreeSet::new(),
            executors: BTreeSet::new(),
            created_at: None,
            updated_at: None,
            name: None,
            limits: ContextLimits::default(),
            status: ContextStatus::Active,
        }
    }

    /// The identities that have a role.
    pub const fn of(&self, role: Role) -> &BTreeSet<IdentityId> {
        match role {
            Role::Admin => &self.admins,
            Role::Caller => &self.callers,
            Role::Reader => &self.readers,
            Role::Executor => &self.executors,
        }
    }

    /// The identities that have a role, mutable.
    pub const fn of_mut(&mut self, role: Role) -> &mut BTreeSet<IdentityId> {
        match role {
            Role::Admin => &mut self.admins,
            Role::Caller => &mut self.callers,
            Role::Reader => &mut self.readers,
            Role::Executor => &mut self.executors,
        }
    }

    /// Whether an identity has a role.
    pub fn has(&self, identity: IdentityId, role: Role) -> bool {
        self.of(role).contains(&identity)
    }
}

/// Contexts by number.
#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ContextPage {
    /// The contexts.
    pub contexts: Vec<Context>,
    /// The cursor of the next page, if there are more.
    pub next_cursor: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_that_is_given_takes_the_place_of_the_one_before_and_zero_takes_it_away() {
        let before = ContextLimits { jobs_per_second: Some(5), max_running: Some(2), ..ContextLimits::default() };
        let given = ContextLimits { jobs_per_second: Some(0), queue_length: Some(7), ..ContextLimits::default() };
        let after = ContextLimits { max_running: Some(2), queue_length: Some(7), ..ContextLimits::default() };
        assert_eq!(before.changed(given), after);
        assert_eq!(after.changed(ContextLimits::default()), after);
    }
}
