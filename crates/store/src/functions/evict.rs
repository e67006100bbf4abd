use crate::Error;
use crate::fcall::Function;
use crate::views::Maintenance;

const FUNCTION: Function = Function("evict");

/// How many jobs one call looks at.
const CHUNK: usize = 64;

/// What a step of [`Maintenance::evict`] did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Evicted {
    /// How many jobs were deleted.
    pub gone: usize,
    /// Where in the hour to go on; nothing at its end.
    pub next: Option<usize>,
}

impl Maintenance<'_> {
    /// Deletes finished jobs of an hour before their time, and with `errors` those that ended in error, beginning at a place of its index. What somebody counts on stays: see `evict.lua`.
    pub async fn evict(self, hour: &str, from: usize, errors: bool) -> Result<Evicted, Error> {
        let mut call = self.0.call(&FUNCTION);
        call.arg(self.0.keys.index_of_hour(hour)).arg(from).arg(CHUNK).arg(if errors { "errors" } else { "" });
        let (looked, gone): (usize, usize) = self.0.commands.function(&call).await?;
        Ok(Evicted { gone, next: (looked == CHUNK).then_some(from + looked) })
    }
}
