//! Keys of groups of jobs that are created together. Functions build them, too.

use super::Keys;
use hero_model::JobId;

impl Keys {
    /// A job that is to be created together with others, by its place among them from 1, and is not listed yet.
    pub fn staged(&self, group: &JobId, place: usize) -> String {
        self.key(format_args!("staged:{group}:{place}"))
    }

    /// Which jobs that are there wait for some of a group that is staged.
    pub fn held(&self, group: &JobId) -> String {
        self.key(format_args!("staged:{group}:held"))
    }

    /// The groups that are staged, by when they are taken away.
    pub fn staging(&self) -> String {
        self.key(format_args!("q:staged"))
    }

    /// The groups that are staged and for which jobs that are there wait.
    pub fn holding(&self) -> String {
        self.key(format_args!("q:holding"))
    }

    /// What is known of a group by the keys that its jobs are to have.
    pub fn group(&self, group: &JobId) -> String {
        self.key(format_args!("staged:{group}"))
    }

    /// What is to be done when a group is created.
    pub fn lines(&self, group: &JobId) -> String {
        self.key(format_args!("staged:{group}:lines"))
    }

    /// Groups that were created and of which something is still to be done.
    pub fn linking(&self) -> String {
        self.key(format_args!("q:created"))
    }
}
