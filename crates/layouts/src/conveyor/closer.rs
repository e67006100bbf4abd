use std::time::Duration;

use prost::Message as _;

use super::Job;
use hero_model::JobId;
use hero_service::Service;
use hero_store::{Close, Closed, ConveyorKeys, Error, Relative, Store};

/// Closes conveyor jobs that have ended. Their children run, or end if the parent failed. Once all descendants are
/// closed, the continuations run, and the job is removed from the children of its parent, which may then close, too.
///
/// An end stays in Redis until it is processed. So any server can process it, and a server that dies meanwhile does no
/// harm.
pub struct Closer {
    store: Store,
    /// The number of rounds in a row that found nothing.
    quiet: u32,
}

/// Maximum number of ends of jobs that are processed in one round.
const ENDS_PER_ROUND: usize = 64;
/// Maximum number of children and continuations of each such job that are handled in one round.
const RELATIVES_PER_ROUND: usize = 128;
/// Pause of an idle closer.
const IDLE_PAUSE: Duration = Duration::from_millis(100);
/// Maximum pause, to which the pauses grow while no conveyor job ends.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

impl Closer {
    /// Creates a closer for one context. It serves all namespaces of conveyor clients.
    pub fn new(store: Store) -> Self {
        Self { store, quiet: 0 }
    }

    async fn close(&self, written: &[u8]) -> Result<(), Error> {
        let read = std::str::from_utf8(written).ok();
        let Some((entry, (id, ended, keys))) = read.and_then(|entry| Some((entry, parse(entry)?))) else {
            return self.store.conveyor().forget_end(written).await;
        };
        let end = self.store.conveyor().read_end(&keys, &id, RELATIVES_PER_ROUND).await?;
        let job = end.bytes.as_deref().and_then(|bytes| Job::decode(bytes).ok());
        // If the hash has another status, the job ran again meanwhile.
        let finished = end.status.map_or(ended, |status| status == hero_model::Status::Finished);
        let parent = if end.parent.is_empty() { job.as_ref().map_or("", Job::parent) } else { &end.parent };
        let failed = (!finished).then(|| match &job {
            Some(job) if end.status.is_some() => Some(job.as_failed(&end.error, end.failures)),
            // The job never ran, and its message contains the reason.
            _ => end.bytes.clone(),
        });
        let reason = format!("its parent {id} failed");
        let relatives = |elements: &[Vec<u8>]| elements.iter().map(|bytes| relative(bytes, &reason)).collect();
        let close = Close {
            entry,
            id: &id,
            finished,
            parent,
            failed: failed.flatten(),
            children: relatives(&end.children),
            continuations: relatives(&end.continuations),
        };
        if self.store.conveyor().close(&keys, &close).await? == Closed::Closed && !finished {
            tracing::warn!(job = %id, failed = keys.failed(), error = end.error, "a conveyor job failed for good and was set aside");
        }
        Ok(())
    }
}

impl Service for Closer {
    type Error = Error;

    const NAME: &'static str = "ending jobs of conveyor";

    async fn tick(&mut self) -> Result<Duration, Error> {
        let ends = self.store.conveyor().ends(ENDS_PER_ROUND).await?;
        let mut failed = Ok(());
        for entry in &ends {
            // If one end cannot be processed, the others still are.
            failed = failed.and(self.close(entry).await);
        }
        failed?;
        if !ends.is_empty() {
            self.quiet = 0;
            return Ok(Duration::ZERO);
        }
        self.quiet = self.quiet.saturating_add(1);
        // Ten rounds take a second. After that the pauses grow, so only the first job after a long idle time waits
        // longer.
        Ok((IDLE_PAUSE * (self.quiet / 10).max(1)).min(LONGEST_PAUSE))
    }
}

/// Parses an entry: its job, whether the job finished, and its keys.
fn parse(entry: &str) -> Option<(JobId, bool, ConveyorKeys)> {
    let mut words = entry.split(' ');
    let id = words.next()?.parse().ok()?;
    let finished = words.next()? == "finished";
    Some((id, finished, ConveyorKeys::parse_relation(words.next()?)?))
}

/// Parses an element of a list of children or continuations.
fn relative(bytes: &[u8], reason: &str) -> Relative {
    let job = Job::decode(bytes).ok().filter(|job| !job.queue.is_empty() && job.uuid.parse::<JobId>().is_ok());
    Relative {
        uuid: job.as_ref().map(|job| job.uuid.clone()),
        queue: job.as_ref().map(|job| job.queue.clone()),
        due: job.as_ref().and_then(|job| job.run_at).filter(super::Time::is_valid).map(|time| time.epoch_seconds()),
        failed: job.as_ref().map(|job| job.as_failed(reason, 0)).unwrap_or_default(),
        bytes: bytes.to_vec(),
    }
}
