use std::time::Duration;

use crate::deadline::in_time;
use crate::fcall::Function;
use crate::group::Group;
use crate::{Error, Inner};

const FUNCTION: Function = Function("link_jobs");

/// About how many come to their places by a call, and by how many calls at least.
const MOST: (usize, usize) = (48, 100);
/// How long to wait after a call that failed.
const PAUSE: Duration = Duration::from_millis(50);

impl Inner {
    /// Has the jobs of a group be there that was created, and enters them where those have them that they wait for. What is too much of the latter the
    /// releaser does, as it does all of it where this server ends.
    pub(super) async fn link(&self, group: &Group<'_>) -> Result<(), Error> {
        let last = group.last_staged().map(|place| format!("{}:{}", group.id, place + 1)).unwrap_or_default();
        let linking = async {
            let mut calls = 0;
            loop {
                match self.link_some(&last).await {
                    Ok(0) => return Ok(()),
                    Ok(1) if calls >= MOST.1 => return Ok(()),
                    Ok(_) => calls += 1,
                    Err(_) => tokio::time::sleep(PAUSE).await,
                }
            }
        };
        in_time(linking).await
    }

    /// Does some of that, of whatever groups there are. Gives 2 if what was staged there is not at its place yet, 1 if there is more to do.
    pub(super) async fn link_some(&self, staged: &str) -> Result<u8, Error> {
        let mut call = self.call(&FUNCTION);
        call.arg(MOST.0).arg(staged);
        self.commands.function(&call).await
    }
}
