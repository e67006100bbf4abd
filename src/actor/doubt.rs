use std::time::Duration;

use tokio::time::Instant;

use super::guard::Holdings;
use crate::model::JobId;

/// Attempts that Redis says this pool holds, and that nobody here knows of.
///
/// A call whose answer got lost may have started some. But one may also just be on its way here, so it counts as lost only
/// when it is still unknown after a second.
#[derive(Debug, Default)]
pub(super) struct Doubt {
    suspects: Vec<(Instant, JobId, u32)>,
}

/// How long an attempt may be on its way.
const ON_ITS_WAY: Duration = Duration::from_secs(1);

impl Doubt {
    /// Whether there is something to look at again.
    pub(super) fn remains(&self) -> bool {
        !self.suspects.is_empty()
    }

    /// Compares what Redis says with what is known, and gives what is lost; `at_once` does not wait for what may be on its way.
    pub(super) fn examine(&mut self, held: Vec<(JobId, u32)>, known: &Holdings, at_once: bool) -> Vec<(JobId, u32)> {
        let (now, before) = (Instant::now(), std::mem::take(&mut self.suspects));
        let mut lost = Vec::new();
        for (job, attempt) in held.into_iter().filter(|(job, _)| !known.contains(job)) {
            let since = before.iter().find(|(_, suspect, of)| *suspect == job && *of == attempt).map_or(now, |(since, _, _)| *since);
            if at_once || now.duration_since(since) >= ON_ITS_WAY {
                lost.push((job, attempt));
            } else {
                self.suspects.push((since, job, attempt));
            }
        }
        lost
    }
}
