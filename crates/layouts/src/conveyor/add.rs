use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use super::{AddError, Job, Step};
use hero_model::{JobId, Name, Timestamp};
use hero_store::{AddTo, ConveyorKeys, ConveyorProducer, Endpoint, Error};

/// Default maximum size of a message, in bytes.
const DEFAULT_MAX_MESSAGE_BYTES: usize = 4 << 20;

/// A client of one Redis that adds jobs under one namespace. Cheap to clone, and shared by any number of tasks.
#[derive(Clone)]
pub struct Conveyor {
    redis: ConveyorProducer,
    keys: ConveyorKeys,
    longest: usize,
}

impl Conveyor {
    /// Connects to Redis. Without a namespace the keys are exactly those of the original conveyor.
    pub async fn connect(endpoint: &Endpoint, namespace: Option<&Name>) -> Result<Self, Error> {
        Ok(Self {
            redis: ConveyorProducer::connect(endpoint).await?,
            keys: ConveyorKeys::new(namespace),
            longest: DEFAULT_MAX_MESSAGE_BYTES,
        })
    }

    /// Sets the maximum size of a job in bytes; the default is 4 MiB.
    #[must_use]
    pub fn with_longest(mut self, bytes: usize) -> Self {
        self.longest = bytes;
        self
    }

    /// Returns the keys that this client uses.
    pub fn keys(&self) -> &ConveyorKeys {
        &self.keys
    }
}

/// The client, the deadline and the cancellation of a call of [`add`]. Cheap to clone.
#[derive(Clone)]
pub struct Context {
    conveyor: Conveyor,
    deadline: Option<Instant>,
    cancellation: CancellationToken,
}

impl Context {
    /// Creates a context without a deadline. Each command to Redis still times out after 5 seconds.
    pub fn new(conveyor: Conveyor) -> Self {
        Self { conveyor, deadline: None, cancellation: CancellationToken::new() }
    }

    /// Sets a deadline.
    #[must_use]
    pub fn with_deadline(mut self, deadline: std::time::Instant) -> Self {
        self.deadline = Some(deadline.into());
        self
    }

    /// Sets a token that cancels the call.
    #[must_use]
    pub fn with_cancellation(mut self, cancellation: CancellationToken) -> Self {
        self.cancellation = cancellation;
        self
    }
}

/// Adds a job: to its parent's children, else to its predecessor's continuations, else to the scheduled jobs, else to
/// its queue.
///
/// As in the original conveyor, only the first that applies is done, and a job without a `uuid` gets one. `dead_parent`
/// means that the parent's script has returned and the predecessor is closed. Then the job becomes an active child and
/// goes into its queue at once. If it is to run later, it is only scheduled.
///
/// After an error, Redis has only what the steps before it wrote. If the error [is
/// recoverable](AddError::is_recoverable), the same call can be repeated.
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
    /// Does one step of an addition, unless the caller cancels or the deadline comes first.
    async fn step(&self, step: Step, uuid: &str, to: AddTo, key: String, element: &[u8]) -> Result<(), AddError> {
        let out_of_time = async {
            match self.deadline {
                // A sleep takes at least a millisecond.
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
