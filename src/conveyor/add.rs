use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use super::{AddError, Job, Step};
use crate::model::{JobId, Name, Timestamp};
use crate::store::{AddTo, ConveyorKeys, ConveyorProducer, Endpoint, Error};

/// The longest message that is sent unless told otherwise, in bytes.
const LONGEST: usize = 4 << 20;

/// A client of one Redis that adds jobs under one namespace. Cheap to clone, and shared by any number of tasks.
#[derive(Clone)]
pub struct Conveyor {
    redis: ConveyorProducer,
    keys: ConveyorKeys,
    longest: usize,
}

impl Conveyor {
    /// Connects. Without a namespace the keys are those of conveyor itself, letter for letter.
    pub async fn connect(endpoint: &Endpoint, namespace: Option<&Name>) -> Result<Self, Error> {
        Ok(Self { redis: ConveyorProducer::connect(endpoint).await?, keys: ConveyorKeys::new(namespace), longest: LONGEST })
    }

    /// The same, but for jobs of at most `bytes`; 4 MiB by default.
    #[must_use]
    pub fn with_longest(mut self, bytes: usize) -> Self {
        self.longest = bytes;
        self
    }

    /// Its keys.
    pub fn keys(&self) -> &ConveyorKeys {
        &self.keys
    }
}

/// What a call of [`add`] is made in: the client, a deadline, and a way to cancel. Cheap to clone.
#[derive(Clone)]
pub struct Context {
    conveyor: Conveyor,
    deadline: Option<Instant>,
    cancellation: CancellationToken,
}

impl Context {
    /// Without a deadline of its own; each command has 5 seconds all the same.
    pub fn new(conveyor: Conveyor) -> Self {
        Self { conveyor, deadline: None, cancellation: CancellationToken::new() }
    }

    /// The same, but no longer than until `deadline`.
    #[must_use]
    pub fn with_deadline(mut self, deadline: std::time::Instant) -> Self {
        self.deadline = Some(deadline.into());
        self
    }

    /// The same, but no longer than until `cancellation` is cancelled.
    #[must_use]
    pub fn with_cancellation(mut self, cancellation: CancellationToken) -> Self {
        self.cancellation = cancellation;
        self
    }
}

/// Adds a job: to its parent's children, else to its predecessor's heirs, else to the scheduled jobs, else to its queue.
///
/// As in the source, the first that applies is the only one, and a `uuid` is made and left in `job` if there is none.
/// `dead_parent`: the parent's script has returned, and the predecessor is closed. The job then becomes an active child
/// and goes into its queue at once, unless its time is to come: then it is only scheduled.
///
/// An error leaves nothing behind in Redis but what the steps before it wrote; with [`AddError::is_recoverable`] the same
/// call can be repeated.
pub async fn add(context: &Context, job: Option<&mut Job>, dead_parent: bool) -> Result<(), AddError> {
    let job = job.ok_or(AddError::NilJob)?;
    if job.uuid.is_empty() {
        job.uuid = JobId::random().to_string();
    }
    let (job, keys) = (&*job, &context.conveyor.keys);
    if job.queue.is_empty() {
        return Err(AddError::NoQueue { uuid: job.uuid.clone() });
    }
    if job.r#type.is_empty() {
        return Err(AddError::NoType { uuid: job.uuid.clone() });
    }
    let bytes = job.marshal(context.conveyor.longest).map_err(|source| AddError::Marshal { uuid: job.uuid.clone(), source })?;
    let put = |step, to, key, element| context.step(step, &job.uuid, to, key, element);
    if !job.parent_uuid.is_empty() && !dead_parent {
        return put(Step::Children, AddTo::List, keys.children(&job.parent_uuid), &bytes).await;
    }
    if !job.predecessor_uuid.is_empty() && !dead_parent {
        return put(Step::OnComplete, AddTo::List, keys.on_complete(&job.predecessor_uuid), &bytes).await;
    }
    let now = super::Time::from(Timestamp::local()).epoch_seconds();
    if let Some(due) = job.run_at.map(|time| time.epoch_seconds()).filter(|due| *due > now) {
        return put(Step::Scheduled, AddTo::Sorted(due), keys.scheduled(), &bytes).await;
    }
    if !job.parent_uuid.is_empty() {
        put(Step::Active, AddTo::Set, keys.active(&job.parent_uuid), job.uuid.as_bytes()).await?;
    }
    put(Step::Queue, AddTo::List, keys.queue(&job.queue), &bytes).await
}

impl Context {
    /// One addition, unless the caller cancels or its deadline comes first.
    async fn step(&self, step: Step, uuid: &str, to: AddTo, key: String, element: &[u8]) -> Result<(), AddError> {
        let out_of_time = async {
            match self.deadline {
                // A sleep takes a millisecond at least.
                Some(deadline) if deadline <= Instant::now() => {}
                Some(deadline) => sleep_until(deadline).await,
                None => std::future::pending().await,
            }
        };
        let uuid = uuid.to_owned();
        tokio::select! {
            biased;
            () = self.cancellation.cancelled() => Err(AddError::Cancelled { uuid, step, key }),
            () = out_of_time => {
                let late = self.deadline.map(|deadline| deadline.elapsed()).unwrap_or_default();
                Err(AddError::Deadline { uuid, step, key, late })
            }
            done = self.conveyor.redis.add(to, &key, element) => done.map_err(|source| step.failed(uuid, key, source)),
        }
    }
}
