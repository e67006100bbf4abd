use std::time::Duration;

use crate::library::fcall::Function;
use crate::network::deadline::in_time;
use crate::relations::staged_group::StagedGroup;
use crate::{Error, Inner};

const FUNCTION: Function = Function("link_jobs");

/// The approximate number of jobs that one call links, and the least number of calls.
const JOBS_PER_CALL_AND_MIN_CALLS: (usize, usize) = (48, 100);
/// The pause after a failed call.
const RETRY_DELAY: Duration = Duration::from_millis(50);

impl Inner {
    /// Makes the jobs of a created group visible, and enters them into the lists of the jobs that they wait for. The releaser does what is
    /// left, or all of it if this server ends.
    pub(super) async fn link(&self, group: &StagedGroup<'_>) -> Result<(), Error> {
        let last = group.last_staged().map(|place| format!("{}:{}", group.id, place + 1)).unwrap_or_default();
        let linking = async {
            let mut calls = 0;
            loop {
                match self.link_some(&last).await {
                    Ok(0) => return Ok(()),
                    Ok(1) if calls >= JOBS_PER_CALL_AND_MIN_CALLS.1 => return Ok(()),
                    Ok(_) => calls += 1,
                    Err(_) => tokio::time::sleep(RETRY_DELAY).await,
                }
            }
        };
        in_time(linking).await
    }

    /// Links a part of some groups. Returns 2 if the staged group is not linked yet, 1 if more is left to do.
    pub(super) async fn link_some(&self, staged: &str) -> Result<u8, Error> {
        let mut call = self.call(&FUNCTION);
        call.arg(JOBS_PER_CALL_AND_MIN_CALLS.0).arg(staged);
        self.commands.function(&call).await
    }
}
