//! Keys of groups of jobs that are created together. Functions build them, too.

use super::Keys;
use hero_model::JobId;

impl Keys {
    /// A job that is to be created together with others, by its place among them from 1. It is not listed yet.
    pub fn staged(&self, group: &JobId, place: usize) -> String {
        self.key(format_args!("staged:{group}:{place}"))
    }

    /// The existing jobs that wait for jobs of a staged group.
    pub fn held(&self, group: &JobId) -> String {
        self.key(format_args!("staged:{group}:held"))
    }

    /// The staged groups, by the time when they are removed.
    pub fn staging(&self) -> String {
        self.key(format_args!("q:staged"))
    }

    /// The staged groups for which existing jobs wait.
    pub fn holding(&self) -> String {
        self.key(format_args!("q:holding"))
    }

    /// The data of a group, by the keys that its jobs will have.
    pub fn group(&self, group: &JobId) -> String {
        self.key(format_args!("staged:{group}"))
    }

    /// The work to do when a group is created.
    pub fn lines(&self, group: &JobId) -> String {
        self.key(format_args!("staged:{group}:lines"))
    }

    /// The created groups with work left to do.
    pub fn linking(&self) -> String {
        self.key(format_args!("q:created"))
    }
}
