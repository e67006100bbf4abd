use crate::Error;
use crate::library::fcall::Function;
use crate::views::Maintenance;

const FUNCTION: Function = Function("evict");

/// The number of jobs that one call checks.
const JOBS_PER_CALL: usize = 64;

/// The result of a step of [`Maintenance::evict`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Evicted {
    /// The number of deleted jobs.
    pub gone: usize,
    /// The place in the hour to continue from; nothing at its end.
    pub next: Option<usize>,
}

impl Maintenance<'_> {
    /// Deletes finished jobs of an hour before their time, and with `errors` those that ended in error, from a place of its index on. Jobs
    /// that are still needed stay: see `evict.lua`.
    pub async fn evict(self, hour: &str, from: usize, errors: bool) -> Result<Evicted, Error> {
        let mut call = self.0.call(&FUNCTION);
        call.arg(self.0.keys.index_of_hour(hour)).arg(from).arg(JOBS_PER_CALL).arg(if errors { "errors" } else { "" });
        let (looked, gone): (usize, usize) = self.0.commands.function(&call).await?;
        Ok(Evicted { gone, next: (looked == JOBS_PER_CALL).then_some(from + looked) })
    }
}
