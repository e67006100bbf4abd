use std::time::Instant;

use super::Error;
use super::views::JobCalls;
use hero_model::{
    ContextId, ErrorKind, Explanation, Job, JobError, JobId, MessageStatus, Queue, Reason, RunnerId, Status, Target, Timestamp, WaitsFor,
    excerpt,
};
use hero_store::PRESENCE;

/// Maximum number of jobs that a message names.
const MAX_NAMED_JOBS: usize = 3;
/// Maximum number of generations in which descendants that have not ended are looked for.
const GENERATIONS: usize = 16;
/// Maximum length of the list of prerequisites that is read, in bytes. The ids of the maximum number of prerequisites
/// are shorter.
const MAX_LIST_BYTES: usize = 64 * 1024;
/// Maximum number of characters of an error that are shown.
const LONGEST_MESSAGE: usize = 1000;
/// The fields of a job that an explanation needs.
const FIELDS: [&str; 22] = [
    "status",
    "attempt",
    "run_at",
    "actor",
    "started_at",
    "finished_at",
    "timeout",
    "usage",
    "prerequisites",
    "parent_id",
    "predecessor_id",
    "script_type",
    "group",
    "instance",
    "priority",
    "error",
    "error_kind",
    "error_line",
    "error_column",
    "error_stack",
    "error_limit",
    "progress",
];

impl JobCalls<'_> {
    /// Explains why a job has not ended, or how it did: a word, a sentence for people, and the facts.
    pub async fn explain(self, context: ContextId, id: &JobId) -> Result<Explanation, Error> {
        let job = self.part(context, id, &FIELDS, MAX_LIST_BYTES).await?;
        let (explained, store) = (self.explained_of(context, &job, None).await?, self.0.contexts().store(context).await?);
        let attempts = store.jobs().attempts(&job).await.map_err(|error| Error::store(error, Some(id)))?;
        Ok(Explanation { attempts, ..explained })
    }

    /// Explains the same for a waiter that waits since `since`. It is cheap, because many waits can time out together:
    /// they share one list of actors, and the position in the queue is left out.
    pub(super) async fn explained(self, context: ContextId, id: &JobId, since: Option<Instant>) -> Result<Explanation, Error> {
        let job = self.part(context, id, &FIELDS, MAX_LIST_BYTES).await?;
        self.explained_of(context, &job, since).await
    }

    async fn explained_of(self, context: ContextId, job: &Job, since: Option<Instant>) -> Result<Explanation, Error> {
        let id = &job.job_id;
        let because = |reason, message: String| Explanation::new(id.clone(), job.status, reason, message);
        let at = |time: Option<Timestamp>, or: &str| time.map_or_else(|| or.to_owned(), |time| time.to_string());
        Ok(match job.status {
            Status::Created => because(Reason::NotStarted, "it was never started; start_job starts it".into()),
            Status::Scheduled => {
                let due_at =
                    self.0.contexts().store(context).await?.jobs().due_at(id).await.map_err(|error| Error::store(error, Some(id)))?;
                let (reason, message) = match job.attempt {
                    0 => (Reason::DueLater, format!("it is due at {}", at(job.run_at.or(due_at), "a later time"))),
                    attempt => (
                        Reason::WaitingForRetry,
                        format!("attempt {} is due at {}, since attempt {attempt} failed", attempt + 1, at(due_at, "this moment")),
                    ),
                };
                Explanation { due_at, ..because(reason, message) }
            }
            Status::WaitingForPrerequisites => self.explain_waiting(context, job, since.is_none()).await?,
            Status::Dispatched => self.explain_queued(context, job, since).await?,
            Status::Started => {
                let actor = job.actor.as_deref().unwrap_or("an actor");
                if let Some(message) = self.explain_away(context, job).await? {
                    return Ok(because(Reason::Running, message));
                }
                let progress = job.progress.clone();
                let far =
                    progress.as_ref().map_or_else(String::new, |progress| format!("; it is at {}, {}", progress.value, progress.text));
                let far = far.trim_end_matches(", ");
                let running =
                    because(Reason::Running, format!("{actor} has been running it since {}{far}", at(job.started_at, "an unknown time")));
                Explanation { progress, ..running }
            }
            Status::Finished | Status::Error => {
                let error = job.error.as_ref().filter(|_| job.status == Status::Error);
                because(
                    Reason::Ended,
                    error.map_or_else(|| "it has ended; get_result gives its result".into(), |error| failure(job, error)),
                )
            }
        })
    }

    /// Explains a job that went to a runner elsewhere by a message. Returns `None` for other jobs.
    async fn explain_away(self, context: ContextId, job: &Job) -> Result<Option<String>, Error> {
        let of_store = |error| Error::store(error, Some(&job.job_id));
        if !job.actor.as_deref().is_some_and(|actor| actor.contains(":runner")) {
            return Ok(None);
        }
        let store = self.0.contexts().store(context).await?;
        let Some(key) = store.messages().of_job(&job.job_id).await.map_err(of_store)? else { return Ok(None) };
        let Some(message) = store.messages().get(key).await.map_err(of_store)?.map(|stored| stored.shown) else { return Ok(None) };
        let to = message.address.as_ref().map_or_else(|| "its runner".to_owned(), ToString::to_string);
        Ok(Some(match (message.status, message.logs.last()) {
            (MessageStatus::Dispatched, Some(last)) => format!("it goes to {to} as {key}, and {}", last.text),
            (MessageStatus::Dispatched, None) => format!("it goes to {to} as {key}, and the other side has not confirmed it yet"),
            _ => format!("{to} has it since {}, as {key}; what it does is seen there", message.updated_at),
        }))
    }

    /// Explains which relation blocks a job: its prerequisites first, then its parent, then its predecessor. With
    /// `looks`, descendants of that which have not ended are looked for.
    async fn explain_waiting(self, context: ContextId, job: &Job, looks: bool) -> Result<Explanation, Error> {
        let mut relatives = job.prerequisites.clone();
        relatives.extend(job.parent_id.iter().chain(&job.predecessor_id).cloned());
        let statuses = self
            .0
            .contexts()
            .store(context)
            .await?
            .jobs()
            .statuses(&relatives)
            .await
            .map_err(|error| Error::store(error, Some(&job.job_id)))?;
        let status = |of: &Option<JobId>| relatives.iter().position(|id| Some(id) == of.as_ref()).and_then(|at| statuses[at]);
        let open = relatives.iter().zip(&statuses).take(job.prerequisites.len());
        let prerequisites: Vec<WaitsFor> = open
            .filter_map(|(id, status)| Some(WaitsFor { job_id: id.clone(), status: (*status)? }))
            .filter(|other| other.status != Status::Finished)
            .collect();
        let one =
            |id: &Option<JobId>| id.iter().filter_map(|other| Some(WaitsFor { job_id: other.clone(), status: status(id)? })).collect();
        let closes = status(&job.predecessor_id).is_some_and(Status::is_final);
        let (reason, waiting_for): (_, Vec<WaitsFor>) = if !prerequisites.is_empty() {
            (Reason::WaitingForPrerequisites, prerequisites)
        } else if status(&job.parent_id).is_some_and(|status| !status.is_final()) {
            (Reason::WaitingForParent, one(&job.parent_id))
        } else if let Some(predecessor) = &job.predecessor_id {
            let descendants = if closes && looks { self.open_descendants(context, predecessor).await? } else { Vec::new() };
            (Reason::WaitingForPredecessor, if descendants.is_empty() { one(&job.predecessor_id) } else { descendants })
        } else {
            (Reason::WaitingForPrerequisites, Vec::new())
        };
        let named: Vec<String> =
            waiting_for.iter().take(MAX_NAMED_JOBS).map(|other| format!("{} ({})", other.job_id, other.status)).collect();
        let more =
            if waiting_for.len() > MAX_NAMED_JOBS { format!(" and {} more", waiting_for.len() - MAX_NAMED_JOBS) } else { String::new() };
        let named = format!("{}{more}", named.join(", "));
        // A continuation runs even if its predecessor is gone or ended in error.
        let ending = &relatives[..relatives.len() - usize::from(job.predecessor_id.is_some())];
        let deleted = if waiting_for.is_empty() { self.deleted(context, job, ending, &statuses).await? } else { None };
        let message = match reason {
            _ if deleted.is_some() => deleted.unwrap_or_default(),
            _ if waiting_for.is_empty() => "what it waited for has ended; it is let go in a moment".into(),
            Reason::WaitingForParent => format!("the script of its parent must return first: {named}"),
            Reason::WaitingForPredecessor if closes && waiting_for.iter().all(|other| other.status.is_final()) => {
                format!("its predecessor {named} has ended, and all descendants of that must end first")
            }
            Reason::WaitingForPredecessor if closes => {
                format!("its predecessor has ended, and descendants of that must end first: {named}")
            }
            Reason::WaitingForPredecessor => format!("its predecessor and all descendants of that must end first: {named}"),
            _ => format!("other jobs must finish first: {named}"),
        };
        Ok(Explanation { waiting_for, ..Explanation::new(job.job_id.clone(), job.status, reason, message) })
    }

    /// Returns descendants of an ended job that have not ended: some of the first generation that has any.
    async fn open_descendants(self, context: ContextId, ended: &JobId) -> Result<Vec<WaitsFor>, Error> {
        let (store, mut parents) = (self.0.contexts().store(context).await?, vec![ended.clone()]);
        for _ in 0..GENERATIONS {
            let mut children = Vec::new();
            for parent in parents {
                let found = store.jobs().open_children(&parent, MAX_NAMED_JOBS + 1).await;
                children.extend(found.map_err(|error| Error::store(error, Some(ended)))?);
            }
            let statuses = store.jobs().statuses(&children).await.map_err(|error| Error::store(error, Some(ended)))?;
            let known = children.into_iter().zip(statuses).filter_map(|(job_id, status)| Some(WaitsFor { job_id, status: status? }));
            let (closing, open): (Vec<_>, Vec<_>) = known.partition(|child| child.status.is_final());
            if !open.is_empty() || closing.is_empty() {
                return Ok(open);
            }
            parents = closing.into_iter().take(MAX_NAMED_JOBS).map(|child| child.job_id).collect();
        }
        Ok(Vec::new())
    }

    /// Explains a job that waits for a relative that was deleted before it released this job.
    async fn deleted(self, context: ContextId, job: &Job, others: &[JobId], statuses: &[Option<Status>]) -> Result<Option<String>, Error> {
        let gone: Vec<JobId> = others.iter().zip(statuses).filter(|(_, status)| status.is_none()).map(|(id, _)| id.clone()).collect();
        let waits = self
            .0
            .contexts()
            .store(context)
            .await?
            .jobs()
            .still_waits(&job.job_id, &gone)
            .await
            .map_err(|error| Error::store(error, Some(&job.job_id)))?;
        let deleted = gone.iter().zip(waits).find(|(_, waits)| *waits).map(|(id, _)| id);
        Ok(deleted.map(|id| format!("job {id}, which it waits for, was deleted; that ends it in a moment, else stop_job does")))
    }

    /// Explains a queue of a runner that nobody serves, because the runner has another script type, or is gone.
    async fn wrong_runner(self, context: ContextId, queue: &Queue) -> Result<Option<String>, Error> {
        let (Target::Group(group) | Target::Instance(group, _)) = &queue.target else { return Ok(None) };
        let Some(number) = RunnerId::of_group(group) else { return Ok(None) };
        let runner = self.0.contexts().store(context).await?.runners().get(number).await.map_err(|error| Error::store(error, None))?;
        Ok(match runner {
            None => Some(format!("the job is for runner {number}, and context {context} has none with that number")),
            Some(runner) if runner.script_type != queue.script_type => {
                Some(format!("runner {number} runs jobs of {}, and this one is of {}", runner.script_type, queue.script_type))
            }
            Some(_) => None,
        })
    }

    async fn explain_queued(self, context: ContextId, job: &Job, since: Option<Instant>) -> Result<Explanation, Error> {
        let store = self.0.contexts().store(context).await?;
        let (script_type, failed) = (job.script_type.clone().unwrap_or_default(), |error| Error::store(error, Some(&job.job_id)));
        let target = Target::of(job.group.clone(), job.instance);
        let of = match &target {
            Target::Type => script_type.to_string(),
            Target::Group(group) => format!("{script_type}, group {group}"),
            Target::Instance(group, instance) => format!("{script_type}, group {group}, instance {instance}"),
        };
        let queue = Queue { script_type, target, priority: job.priority };
        let in_queue = store.queues().position(&job.job_id, &queue, since.is_none()).await.map_err(failed)?;
        let actors = match since {
            None => store.actors().now().await,
            Some(since) => store.actors().since(since).await,
        };
        let actors = actors.map_err(failed)?;
        let drains = actors.iter().any(|actor| actor.presence.draining && actor.is_for(&queue));
        let (foreign, ours): (Vec<_>, Vec<_>) = actors.iter().filter(|actor| actor.takes_from(&queue)).partition(|actor| actor.foreign);
        let actors = foreign.len() + ours.len();
        let most = store.limits().running() as u64;
        let turn = self.0.0.explain_waits.get().and_then(|explain| explain(context, &queue));
        let (reason, message) = if in_queue.paused {
            (Reason::Paused, format!("the queue of {of} is paused; resume_queue has it served again"))
        } else if let Some(why) = turn {
            (Reason::WaitingForTurn, why)
        } else if actors == 0
            && let Some(why) = self.wrong_runner(context, &queue).await?
        {
            (Reason::NoLiveActor, why)
        } else if actors == 0 && drains {
            let why = "take no more jobs, because they end, or their server does; it waits in its queue until others start";
            (Reason::Draining, format!("all actors of {of} {why}"))
        } else if actors == 0 {
            let why = self
                .0
                .0
                .settings
                .absent
                .get(&queue.script_type)
                .map_or_else(String::new, |why| format!("; this server offers none: {why}"));
            (Reason::NoLiveActor, format!("no live actor takes jobs of {of}; it waits in its queue until one starts{why}"))
        } else if most > 0 && in_queue.running >= most {
            (
                Reason::AtConcurrencyCap,
                format!("context {context} runs as many jobs as it may: {} (max_running); it waits until one ends", in_queue.running),
            )
        } else if in_queue.depth == 0 {
            (Reason::InNoQueue, "it is in no queue: an actor may just have taken it; else it is put back within a minute".into())
        } else {
            let counted = |number: u64, what: &str| format!("{number} {what}{}", if number == 1 { "" } else { "s" });
            let held = counted(in_queue.depth, "job");
            // What foreign actors run may have no lease, so nobody knows whether they are busy.
            let seconds = PRESENCE.as_secs();
            if in_queue.running == 0 && foreign.is_empty() {
                let offer = counted(actors as u64, "actor");
                let why = format!("one takes it in a moment, or they have ended without a word, which shows within {seconds} s");
                (Reason::WaitingForActor, format!("{offer} of {of} may take it, and none has a job: {why}; its queue holds {held}"))
            } else if in_queue.running == 0 {
                let why = format!("are busy, or have ended without a word, which shows within {seconds} s");
                (Reason::AllActorsBusy, format!("all actors of {of} {why}; its queue holds {held}"))
            } else {
                (Reason::AllActorsBusy, format!("all actors of {of} are busy; its queue holds {held}"))
            }
        };
        Ok(Explanation {
            queue: Some(in_queue.queue),
            depth: Some(in_queue.depth),
            position: in_queue.position,
            actors: Some(u32::try_from(actors).unwrap_or(u32::MAX)),
            running: Some(in_queue.running),
            max_running: (most > 0).then_some(most),
            ..Explanation::new(job.job_id.clone(), job.status, reason, message)
        })
    }
}

/// Says how a job ended in error. The first words are those that the command line has for such an end.
fn failure(job: &Job, error: &JobError) -> String {
    let message = excerpt(&error.message, LONGEST_MESSAGE);
    match (error.kind, &*message) {
        (ErrorKind::Prerequisite, _) => format!("it has ended without being run: {message}"),
        (ErrorKind::Timeout, _) => match job.timeout {
            Some(timeout) => format!("timed out after {timeout} s (timeout)"),
            None => "timed out (timeout)".into(),
        },
        (ErrorKind::Stopped, "stopped") => "stopped before it ran".into(),
        (ErrorKind::Stopped, "stopped_by_request") => "stopped by request".into(),
        (ErrorKind::Stopped, _) => format!("stopped: {message}"),
        (kind, _) => {
            let limit = error.limit.map_or_else(String::new, |limit| format!(" ({})", limit.as_str()));
            let place = match (error.line, error.column) {
                (Some(line), Some(column)) => format!(":{line}:{column}"),
                (Some(line), None) => format!(":{line}"),
                _ => String::new(),
            };
            format!("failed: {}{limit}{place}: {message}", kind.as_str())
        }
    }
}
