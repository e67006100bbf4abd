use crate::Error;
use crate::fcall::Function;
use crate::views::Maintenance;

const FUNCTION: Function = Function("clean_status_index");

/// How many one call looks at.
const CHUNK: usize = 256;

impl Maintenance<'_> {
    /// One step through an index by status, `error` or `left`, which takes out what is not of it any more. Gives where to go on, or nothing at the end.
    ///
    /// `whole`: a walk through all hours has put in what was missing.
    pub async fn clean_status_index(self, status: &str, from: usize, whole: bool) -> Result<Option<usize>, Error> {
        let mut call = self.0.call(&FUNCTION);
        call.arg(status).arg(from).arg(CHUNK).arg(if whole { "whole" } else { "" });
        let (looked, gone): (usize, usize) = self.0.commands.function(&call).await?;
        Ok((looked == CHUNK).then_some(from + looked - gone))
    }
}
