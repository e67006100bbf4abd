use crate::Error;
use crate::library::fcall::Function;
use crate::views::Maintenance;

const FUNCTION: Function = Function("clean_status_index");

/// The number of entries that one call checks.
const ENTRIES_PER_CALL: usize = 256;

impl Maintenance<'_> {
    /// One step through the index of a status, `error` or `left`. It removes entries that no longer belong there. Returns the place to
    /// continue from, or nothing at the end.
    ///
    /// `whole`: a walk through all hours has added the missing entries.
    pub async fn clean_status_index(self, status: &str, from: usize, whole: bool) -> Result<Option<usize>, Error> {
        let mut call = self.0.call(&FUNCTION);
        call.arg(status).arg(from).arg(ENTRIES_PER_CALL).arg(if whole { "whole" } else { "" });
        let (looked, gone): (usize, usize) = self.0.commands.function(&call).await?;
        Ok((looked == ENTRIES_PER_CALL).then_some(from + looked - gone))
    }
}
