use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use prost::Message as _;

use super::Job;
use hero_model::{JobId, JobSpec, Name, ScriptType, Seconds};
use hero_service::Service;
use hero_store::{ConveyorKeys, Due, Error, Import, Imported, Store};

/// The settings of a [`Consumer`].
#[derive(Debug, Clone)]
pub struct ConsumerSettings {
    /// The namespace of the conveyor clients, if they have one.
    pub namespace: Option<Name>,
    /// The queues, each with the script type of jobs without a type.
    pub queues: Vec<(Name, ScriptType)>,
    /// The script types that jobs may name.
    pub script_types: BTreeSet<ScriptType>,
    /// Maximum length to which the consumer fills a work queue. Other jobs stay in conveyor's queue, where other
    /// consumers can take them.
    pub backlog: usize,
    /// Maximum length of a script, in bytes.
    pub longest_script: usize,
}

/// Takes jobs out of conveyor queues for the pools of a context, and moves scheduled ones to their queues when they are
/// due.
///
/// A job becomes a job of hero with the same uuid. Its payload is the script, and its type the script type. An element
/// that is not a job is moved to `failed` and logged, so that the elements after it do not wait.
pub struct Consumer {
    store: Store,
    keys: ConveyorKeys,
    settings: ConsumerSettings,
    /// The cursor of the walk through the keys.
    cursor: u64,
    rounds: u32,
}

/// Maximum number of elements of a queue that are read in one round.
const ELEMENTS_PER_ROUND: usize = 32;
/// Pause of an idle consumer. Conveyor's clients publish nothing when they push a job, so nothing can wake it.
const IDLE_PAUSE: Duration = Duration::from_millis(100);
/// The number of rounds between two steps of the walk through the keys.
const ROUNDS_PER_SWEEP_STEP: u32 = 5;
/// Maximum number of keys that one step of the walk reads.
const KEYS_PER_SWEEP_STEP: usize = 500;
/// Time that relatives wait for a job that was never added.
const ORPHAN_RETENTION: Duration = Duration::from_secs(30 * 24 * 3600);
/// The pause before a second attempt, as in conveyor.
const RETRY_DELAY: Duration = Duration::from_secs(2);

impl Consumer {
    /// Creates a consumer for one context.
    pub fn new(store: Store, settings: ConsumerSettings) -> Self {
        let keys = store.conveyor().keys(settings.namespace.as_ref());
        Self { store, keys, settings, cursor: 0, rounds: 0 }
    }

    async fn promote(&self) -> Result<usize, Error> {
        let due = self.store.conveyor().due(&self.keys, ELEMENTS_PER_ROUND).await?;
        if due.is_empty() {
            return Ok(0);
        }
        let queue = |bytes: &[u8]| Job::decode(bytes).ok().map(|job| job.queue).filter(|queue| !queue.is_empty());
        let due: Vec<Due> = due.into_iter().map(|bytes| Due { queue: queue(&bytes), bytes }).collect();
        self.store.conveyor().promote(&self.keys, &due).await
    }

    async fn import(&self, queue: &Name, script_type: &ScriptType) -> Result<usize, Error> {
        let elements = self.store.conveyor().peek(&self.keys, queue.as_str(), ELEMENTS_PER_ROUND).await?;
        if elements.is_empty() {
            return Ok(0);
        }
        let (imports, reasons): (Vec<_>, Vec<_>) = elements.into_iter().map(|bytes| self.settings.read(bytes, queue, script_type)).unzip();
        let imported = self.store.conveyor().import(&self.keys, queue.as_str(), self.settings.backlog, &imports).await?;
        for (became, reason) in imported.iter().zip(&reasons) {
            let failed = self.keys.failed();
            match became {
                Imported::Failed => tracing::warn!(%queue, failed, reason, "a conveyor job cannot run and was set aside"),
                Imported::Other => tracing::warn!(%queue, failed, "a conveyor job has the id of another job and was set aside"),
                Imported::Lost => tracing::error!(%queue, failed, reason, "a conveyor job cannot run, and the key for those is no list"),
                Imported::Taken | Imported::Full | Imported::Gone | Imported::Twice => {}
            }
        }
        Ok(imported.iter().filter(|became| !matches!(became, Imported::Full | Imported::Gone)).count())
    }

    async fn sweep(&mut self) -> Result<(), Error> {
        let (next, ids) = self.store.conveyor().scan(&self.keys, self.cursor, KEYS_PER_SWEEP_STEP).await?;
        if !ids.is_empty() {
            self.store.conveyor().sweep(&self.keys, &ids, ORPHAN_RETENTION).await?;
        }
        self.cursor = next;
        Ok(())
    }
}

impl Service for Consumer {
    type Error = Error;

    const NAME: &'static str = "taking jobs of conveyor";

    async fn tick(&mut self) -> Result<Duration, Error> {
        let promoted = self.promote().await;
        let mut done = promoted.as_ref().copied().unwrap_or(0);
        let mut failed = promoted.map(drop);
        for (queue, script_type) in &self.settings.queues {
            match self.import(queue, script_type).await {
                Ok(number) => done += number,
                // If one queue cannot be read, the others still are.
                Err(error) => failed = failed.and(Err(error)),
            }
        }
        self.rounds += 1;
        if self.rounds >= ROUNDS_PER_SWEEP_STEP {
            self.rounds = 0;
            failed = failed.and(self.sweep().await);
        }
        failed?;
        Ok(if done > 0 { Duration::ZERO } else { IDLE_PAUSE })
    }
}

impl ConsumerSettings {
    /// Converts an element, and returns the reason if it cannot run.
    fn read(&self, bytes: Vec<u8>, queue: &Name, script_type: &ScriptType) -> (Import, String) {
        let job = match Job::decode(bytes.as_slice()) {
            Ok(job) => job,
            Err(error) => return (Import::Bad { bytes }, format!("it is no conveyor job: {error}")),
        };
        let id = match job.uuid.parse::<JobId>() {
            Ok(id) => id,
            Err(error) => return (Import::Bad { bytes }, error.to_string()),
        };
        let parent = job.parent().to_owned();
        match self.spec(&job, queue, script_type) {
            Ok(spec) => (Import::Job { bytes, id, parent, spec: Box::new(spec) }, String::new()),
            Err(reason) => (Import::Ill { bytes, id, parent, failed: job.as_failed(&reason, 0) }, reason),
        }
    }

    /// The job to run, or the reason why it cannot.
    fn spec(&self, job: &Job, queue: &Name, script_type: &ScriptType) -> Result<JobSpec, String> {
        let script_type = match job.r#type.as_str() {
            "" => script_type.clone(),
            word => {
                let named = word.parse::<ScriptType>().ok().filter(|named| self.script_types.contains(named));
                named.ok_or_else(|| format!("its type {:?} is no script type of this server", word.chars().take(48).collect::<String>()))?
            }
        };
        if job.payload.len() > self.longest_script {
            return Err(format!("its script has {} bytes, and {} are allowed", job.payload.len(), self.longest_script));
        }
        let script = std::str::from_utf8(&job.payload).map_err(|_| "its payload is no text, and has to be a script".to_owned())?;
        Ok(JobSpec {
            script: script.to_owned(),
            script_type,
            caller_id: Some("conveyor".to_owned()),
            retries: job.attempts_left() - 1,
            retry_backoff: Some(Seconds::from(RETRY_DELAY)),
            labels: BTreeMap::from([("conveyor_queue".to_owned(), queue.to_string())]),
            ..JobSpec::default()
        })
    }
}
