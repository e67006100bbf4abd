use super::Keys;
use hero_model::Name;

/// The keys of the conveyor layout, under one namespace.
///
/// Without a namespace they are exactly conveyor's own keys. A namespace and a colon go before each key.
///
/// | key | type | until |
/// | --- | --- | --- |
/// | `queue:{name}` | list of jobs | taken from the right |
/// | `scheduled` | zset of jobs by epoch seconds | moved to their queue when due |
/// | `jobs:{uuid}` | string, the job | from when it is taken until it is closed |
/// | `jobs:{uuid}:children` · `:onComplete` | list of jobs | released; without a known owner 30 days |
/// | `jobs:{uuid}:active` | set of uuids | a member until that child is closed |
/// | `failed` | list of jobs | 1000 jobs, 7 days after the last one |
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConveyorKeys {
    prefix: String,
}

/// The prefix of `rel` in a conveyor job; in other jobs `rel` names the parent.
const RELATION: &str = "conveyor/";

impl ConveyorKeys {
    /// Keys in a database that belongs to conveyor clients.
    pub fn new(namespace: Option<&Name>) -> Self {
        Self { prefix: namespace.map(|name| format!("{name}:")).unwrap_or_default() }
    }

    /// Returns keys within a context.
    pub(super) fn within(keys: &Keys, namespace: Option<&Name>) -> Self {
        Self { prefix: format!("{}{}", keys.prefix(), Self::new(namespace).prefix) }
    }

    /// Returns the keys that a conveyor job's `rel` names.
    pub fn parse_relation(rel: &str) -> Option<Self> {
        Some(Self { prefix: rel.strip_prefix(RELATION)?.to_owned() })
    }

    /// The prefix of every key. Scripts build the keys of other jobs from it.
    pub fn prefix(&self) -> &str {
        &self.prefix
    }

    /// A queue.
    pub fn queue(&self, name: &str) -> String {
        format!("{}queue:{name}", self.prefix)
    }

    /// Jobs that wait for their time.
    pub fn scheduled(&self) -> String {
        format!("{}scheduled", self.prefix)
    }

    /// A job that was taken and is not closed.
    pub fn job(&self, uuid: &str) -> String {
        format!("{}jobs:{uuid}", self.prefix)
    }

    /// The children of a job that wait until it has returned.
    pub fn children(&self, uuid: &str) -> String {
        format!("{}jobs:{uuid}:children", self.prefix)
    }

    /// The children of a job that may run and have not closed.
    pub fn active(&self, uuid: &str) -> String {
        format!("{}jobs:{uuid}:active", self.prefix)
    }

    /// The continuations of a job: they wait until it is closed.
    pub fn on_complete(&self, uuid: &str) -> String {
        format!("{}jobs:{uuid}:onComplete", self.prefix)
    }

    /// Jobs that failed for good, and elements that are no jobs.
    pub fn failed(&self) -> String {
        format!("{}failed", self.prefix)
    }

    /// The pattern of the keys of children, active children and continuations, for SCAN.
    pub(crate) fn relations_pattern(&self) -> String {
        format!("{}jobs:*:*", self.prefix)
    }

    /// Returns the job to which a key of children, active children or continuations belongs.
    pub(crate) fn parse_relations<'k>(&self, key: &'k str) -> Option<&'k str> {
        let rest = key.strip_prefix(&*self.prefix)?.strip_prefix("jobs:")?;
        [":children", ":active", ":onComplete"].iter().find_map(|what| rest.strip_suffix(what))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hero_model::ContextId;

    #[test]
    fn keys_are_those_of_the_source() {
        let keys = ConveyorKeys::new(None);
        assert_eq!(keys.queue("mail"), "queue:mail");
        assert_eq!(keys.scheduled(), "scheduled");
        assert_eq!(keys.job("u"), "jobs:u");
        assert_eq!(keys.children("u"), "jobs:u:children");
        assert_eq!(keys.active("u"), "jobs:u:active");
        assert_eq!(keys.on_complete("u"), "jobs:u:onComplete");
    }

    #[test]
    fn a_namespace_stands_before_each_key_and_behind_the_context() {
        let name = "conv".parse::<Name>().unwrap();
        assert_eq!(ConveyorKeys::new(Some(&name)).scheduled(), "conv:scheduled");
        let keys = Keys::clustered(ContextId(7)).conveyor(Some(&name));
        assert_eq!(keys.children("u"), "{ctx:7}:conv:jobs:u:children");
        assert_eq!(keys.parse_relations("{ctx:7}:conv:jobs:u:onComplete"), Some("u"));
        assert_eq!(keys.parse_relations("jobs:u:onComplete"), None);
    }
}
