mod creation;

use std::time::Duration;

use sha2::{Digest, Sha256};

use super::unexpected;
use crate::batch::Weight;
use crate::jobs::codec::text_bytes;
use crate::keys::Keys;
use crate::library::fcall::Function;
use crate::value::{Text, json};
use crate::views::Jobs;
use crate::{Error, Firing, Push};
use hero_model::{FlowId, JobId, JobSpec, Priority, Queue, Status, Target, hex};

pub(crate) use creation::{Beginning, Creation, create_batch};

const FUNCTION: Function = Function("create");

/// A job to be stored.
#[derive(Debug, Clone)]
pub struct NewJob {
    /// Its id.
    pub id: JobId,
    /// Its parameters, with the defaults filled in.
    pub spec: JobSpec,
    /// Whether it starts at once.
    pub start: bool,
    /// Whether this server waits for it, so that no reply list is needed.
    pub waited: bool,
    /// The occurrence of a schedule that creates it. The job is stored only if no other server has fired the occurrence.
    pub occurrence: Option<Firing>,
    /// The flow that it belongs to.
    pub flow: Option<JobOfFlow>,
}

/// The place of a job in its flow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobOfFlow {
    /// The flow.
    pub flow: FlowId,
    /// The number of the caller in `job:{caller}:{n}`.
    pub caller: u32,
    /// The number of the job in `job:{caller}:{n}`.
    pub number: u32,
}

/// The result of storing a job.
#[derive(Debug, Clone, PartialEq)]
pub enum Created {
    /// It is stored.
    Created(Status),
    /// Another job has its id.
    Exists(Status),
    /// The idempotency key belongs to this job, which was created with the same parameters.
    Same(JobId, Status),
    /// The idempotency key belongs to this job, which was created with other parameters.
    Reused(JobId),
    /// The queue is full, with this many jobs.
    Full(u64),
    /// The key of the queue is no list, because another program wrote there.
    NoList,
    /// The limit of jobs created in a second is reached; there is room after this time.
    TooFast(Duration),
    /// The limit of groups staged in the context is reached.
    ManyStaged,
    /// Redis is nearly full.
    NoMemory,
    /// Its occurrence was not fired.
    NotFired(NotFired),
    /// The jobs that it names in this parameter do not exist.
    NoRelative(&'static str, Vec<JobId>),
    /// A dependent that it names has already begun.
    Late(JobId, Status),
    /// A dependent that it names waits for the most allowed number of others.
    Crowded(JobId),
    /// An earlier job with its id is gone, and the jobs that waited for that one are not released yet.
    Unreleased,
    /// It would wait for itself: these jobs would wait for each other.
    Cycle(Vec<JobId>),
    /// It has too many relations to check whether it would wait for itself.
    Tangled,
    /// So many relations were followed lately that those of this job must wait.
    Busy,
    /// Another job of the same call was refused.
    None,
}

impl Created {
    /// Whether the job is stored.
    pub fn is_stored(&self) -> bool {
        matches!(self, Self::Created(_) | Self::Same(..))
    }
}

/// The reason why the occurrence of a schedule was not fired.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotFired {
    /// Another server fired it first, or the schedule is gone.
    Done,
    /// The job of the occurrence before has not ended; the schedule moved on.
    Skipped,
}

impl Jobs<'_> {
    /// Stores a job, and starts it if asked to.
    pub async fn create(self, job: NewJob) -> Result<Created, Error> {
        if job.may_close_a_cycle() {
            return self.0.relate(job).await;
        }
        if job.weight().is_large() {
            return self.0.create_large.ask(Creation { job, speculation: None }).await;
        }
        let speculation = self.0.speculate(&job);
        if let Some(speculation) = &speculation {
            speculation.is_due().await;
        }
        self.0.create.ask(Creation { job, speculation }).await
    }
}

impl NewJob {
    /// Returns the queue of the job. A named group or instance always has its own queue.
    pub(crate) fn queue(&self) -> Queue {
        let spec = &self.spec;
        let target = Target::of(spec.group.clone(), spec.instance);
        Queue { script_type: spec.script_type.clone(), target, priority: spec.priority }
    }

    /// The load that storing it puts on Redis.
    pub fn weight(&self) -> Weight {
        Weight { bytes: text_bytes(&self.spec), relations: self.relations().count() }
    }

    /// Whether an actor with room may start it in the function that stores it: no other program can know it yet, and any actor may run it.
    pub(crate) fn may_start_at_once(&self) -> bool {
        let spec = &self.spec;
        let plain = self.occurrence.is_none() && spec.job_id.is_none() && spec.idempotency_key.is_none() && spec.run_at.is_none();
        let plain = plain && self.relations().next().is_none();
        self.start && plain && spec.group.is_none() && spec.instance.is_none() && spec.priority == Priority::Normal
    }

    /// Whether relations must be followed to check that it does not wait for itself; `create.lua` (`refuse_cycle`) has the same rule.
    fn may_close_a_cycle(&self) -> bool {
        let spec = &self.spec;
        let waits = spec.predecessor_id.is_some() || !spec.prerequisites.is_empty();
        let leads_here = !spec.dependents.is_empty();
        spec.parent_id.is_some() && (waits || leads_here) || leads_here && waits
    }

    /// Returns the digest under which its idempotency key is stored. Two callers may use the same key for different jobs.
    fn key_digest(&self, key: &str) -> String {
        digest(&[self.spec.caller_id.as_deref().unwrap_or_default(), key])
    }

    /// For a job with an idempotency key: the digest under which the key is stored, and a digest of the parameters.
    pub(crate) fn digests(&self) -> Option<[String; 2]> {
        Some([self.key_digest(self.spec.idempotency_key.as_ref()?), digest(&[&json(&self.spec)])])
    }

    /// Returns the jobs that it is related to, each with the name of the relation.
    pub(crate) fn relations(&self) -> impl Iterator<Item = (&'static str, &JobId)> {
        let spec = &self.spec;
        let prerequisites = spec.prerequisites.iter().map(|id| ("prerequisite", id));
        let dependents = spec.dependents.iter().map(|id| ("dependent", id));
        let parent = spec.parent_id.iter().map(|id| ("parent", id));
        prerequisites.chain(dependents).chain(parent).chain(spec.predecessor_id.iter().map(|id| ("predecessor", id)))
    }

    /// Returns the shadow queue: the legacy queue to which the job is pushed as well, or alone. A job for a group or an instance has none,
    /// unless it names a worker.
    pub(crate) fn shadow(&self, keys: &Keys, push: Push) -> Option<String> {
        let spec = &self.spec;
        match (push, &spec.worker_id) {
            (Push::Canonical, _) => None,
            (_, Some(worker)) => Some(keys.work_queue(worker.as_str())),
            (Push::Both, None) if spec.group.is_some() || spec.instance.is_some() => None,
            // During a migration, a supervisor of legacy actors pushes there.
            (Push::Both, None) => Some(keys.actor_queue(spec.script_type.as_str())),
            // A client of legacy workers pushes there: the hash names the type as its worker.
            (Push::Legacy, None) => Some(keys.work_queue(spec.script_type.as_str())),
        }
    }
}

/// Reads an answer; nothing if the job must be sent again.
pub(crate) fn created(answer: &[Text]) -> Result<Option<Created>, Error> {
    let text = |at: usize| answer.get(at).and_then(|text| text.0.as_deref());
    let status = |at| Status::parse(text(at)).unwrap_or(Status::Started);
    let param = || ["prerequisites", "dependents", "parent_id", "predecessor_id"].into_iter().find(|param| text(1) == Some(param));
    let job = |at| text(at).and_then(|id| id.parse().ok());
    let jobs = |from: usize| (from..answer.len()).filter_map(job).collect::<Vec<_>>();
    Ok(Some(match (text(0), job(1)) {
        (Some("created"), _) => Created::Created(status(1)),
        (Some("exists"), _) => Created::Exists(status(1)),
        (Some("same"), Some(id)) => Created::Same(id, status(2)),
        (Some("reused"), Some(id)) => Created::Reused(id),
        (Some("no"), _) => {
            let named = param().map(|param| Created::NoRelative(param, jobs(2)));
            named.ok_or_else(|| unexpected("create", &answer))?
        }
        (Some("late"), Some(id)) => Created::Late(id, status(2)),
        (Some("crowded"), Some(id)) => Created::Crowded(id),
        (Some("unreleased"), _) => Created::Unreleased,
        (Some("cycle"), Some(_)) => Created::Cycle(jobs(1)),
        (Some("tangled"), _) => Created::Tangled,
        (Some("again"), _) => return Ok(None),
        (Some("none"), _) => Created::None,
        (Some("full"), _) => text(1).and_then(|length| length.parse().ok()).map_or(Created::NoList, Created::Full),
        (Some("slow"), _) => Created::TooFast(Duration::from_millis(text(1).and_then(|wait| wait.parse().ok()).unwrap_or(1000))),
        (Some("crowd"), _) => Created::ManyStaged,
        (Some("memory"), _) => Created::NoMemory,
        (Some("fired"), _) => Created::NotFired(NotFired::Done),
        (Some("skipped"), _) => Created::NotFired(NotFired::Skipped),
        _ => return Err(unexpected("create", &answer)),
    }))
}

/// Returns the SHA-256 of texts, in hexadecimal. The length stands before each text, so that no other texts give the same digest.
pub(super) fn digest(parts: &[&str]) -> String {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update((part.len() as u64).to_be_bytes());
        hasher.update(part.as_bytes());
    }
    hex(&hasher.finalize())
}
