use super::Error;
use super::timetable::Timetable;
use super::views::ScheduleCalls;
use hero_engine::Names;
use hero_model::{ContextId, JobSpec, Schedule, ScheduleId, SchedulePage, ScheduleSpec, Standing};
use hero_service::away;
use hero_store::{self as store, Scheduling, Store, StoredSchedule};

/// Maximum number of next runs that are shown.
const MAX_SHOWN_RUNS: usize = 5;

impl ScheduleCalls<'_> {
    /// Stores a schedule, which makes jobs from then on, in the context of its job. Fields that the job lacks get their
    /// defaults now. Refuses a script that does not compile, if an engine for its type is available. The same
    /// idempotency key returns the same schedule.
    pub async fn create(self, spec: ScheduleSpec) -> Result<Schedule, Error> {
        match self.store_schedule(&spec).await {
            // A call that is repeated is not refused for what has changed since.
            Err(refused) if spec.idempotency_key.is_some() && refused.precedes_key() => {
                let store = self.0.contexts().store(spec.job.context_id).await?;
                let Ok(Some(found)) = store.schedules().find_keyed(&spec).await else { return Err(refused) };
                created_before(&store, found).await
            }
            stored => stored,
        }
    }

    async fn store_schedule(self, asked: &ScheduleSpec) -> Result<Schedule, Error> {
        let mut spec = asked.clone();
        let store = self.0.contexts().store(spec.job.context_id).await?;
        if let Some(field) = of_single_jobs(&spec.job) {
            return Err(Error::invalid("job", format!("has {field}, which is for single jobs; leave it out")));
        }
        spec.job = self.0.jobs().complete(spec.job).await?.spec;
        check_texts(&spec)?;
        self.0.jobs().check_actors(&spec.job).await?;
        let created_at = store.clock().now();
        let table = Timetable::new(&spec, created_at)?;
        let Some(first) = table.after(created_at) else {
            let param = if spec.cron.is_some() { "cron" } else { "every" };
            let why = if spec.end_at.is_some() { " before end_at" } else { ": there is no such date" };
            return Err(Error::invalid(param, format!("gives no run{why}")));
        };
        // A script may catch the error of an unknown function.
        if let Some(error) = self.0.jobs().compiled(&spec.job.script_type, &spec.job.script, Names::Any).await {
            return Err(Error::Script(Box::new(error)));
        }
        let id = spec.schedule_id.take().unwrap_or_else(ScheduleId::random).spelled();
        spec.idempotency_key = None;
        match store.schedules().schedule(&id, (asked, &spec), created_at, first).await? {
            Scheduling::Created => {
                let bytes = bytes_of(&spec);
                let mut shown = away(bytes, move || spec.shown(id, created_at)).await.ok_or_else(closed)?;
                shown.next_runs = table.occurrences_after(created_at).take(MAX_SHOWN_RUNS).collect();
                Ok(shown)
            }
            found @ (Scheduling::Same(..) | Scheduling::Reused(_)) => created_before(&store, found).await,
            Scheduling::Exists => Err(Error::ScheduleExists(id)),
            Scheduling::Full(most) => {
                let what = format!("context {} has {most} schedules and takes no more; delete_schedule makes room", store.context());
                Err(Error::Full { what, retry_after: super::error::RETRY_AFTER })
            }
        }
    }

    /// Returns a page of schedules, in the order of their next runs. A schedule that runs meanwhile may be on two
    /// pages; none is missing.
    pub async fn list(self, context: ContextId, cursor: Option<&str>, limit: usize) -> Result<SchedulePage, Error> {
        let page = self.0.contexts().store(context).await?.schedules().list(cursor, limit).await?;
        let (schedules, next_cursor) = page.ok_or_else(Error::bad_page_cursor)?;
        let bytes = schedules.iter().filter_map(|stored| stored.spec.as_ref()).map(bytes_of).sum();
        let shown = away(bytes, move || schedules.into_iter().filter_map(shown).collect());
        let mut schedules: Vec<Schedule> = shown.await.ok_or_else(closed)?;
        if let Some(callers) = self.0.0.callers.get() {
            for schedule in &mut schedules {
                let Some(caller) = schedule.job.caller_id.as_deref().filter(|_| !schedule.next_runs.is_empty()) else { continue };
                let standing = callers.standing(context, caller, false).await?;
                if let Standing::Lacks(why) = standing {
                    schedule.suspended = Some(why);
                }
            }
        }
        Ok(SchedulePage { schedules, next_cursor })
    }

    /// Deletes a schedule. Its jobs stay.
    pub async fn delete(self, context: ContextId, id: &ScheduleId) -> Result<(), Error> {
        let id = id.clone().spelled();
        match self.0.contexts().store(context).await?.schedules().unschedule(&id).await? {
            true => Ok(()),
            false => Err(Error::NoSchedule(id)),
        }
    }
}

/// Answers with the schedule of an idempotency key.
async fn created_before(store: &Store, found: Scheduling) -> Result<Schedule, Error> {
    match found {
        Scheduling::Same(id, occurrence) => {
            let stored = store.schedules().get(id.clone(), occurrence).await?;
            // Somebody deletes it meanwhile.
            stored.and_then(shown).ok_or(Error::NoSchedule(id))
        }
        Scheduling::Reused(id) => Err(Error::ScheduleReused(id)),
        Scheduling::Created | Scheduling::Exists | Scheduling::Full(_) => unreachable!("these are no answers of a key"),
    }
}

/// Returns the number of bytes that are processed to show a schedule without the secrets of its jobs.
fn bytes_of(spec: &ScheduleSpec) -> usize {
    spec.job.env_vars.values().map(String::len).sum()
}

fn closed() -> Error {
    store::Error::Closed.into()
}

/// Returns a schedule in its public form, or `None` if another version wrote it.
fn shown(stored: StoredSchedule) -> Option<Schedule> {
    let spec = stored.spec?;
    let table = Timetable::new(&spec, stored.created_at).ok()?;
    let mut shown = spec.shown(stored.id, stored.created_at);
    if !stored.ended {
        shown.next_runs =
            std::iter::once(stored.occurrence).chain(table.occurrences_after(stored.occurrence)).take(MAX_SHOWN_RUNS).collect();
    }
    shown.last_run = stored.last_slot;
    shown.last_job = stored.last_job;
    shown.runs = stored.runs;
    shown.skipped_runs = stored.skipped;
    shown.missed_runs = stored.missed;
    Some(shown)
}

/// Returns the first field that is set although only a single job can have it.
fn of_single_jobs(job: &JobSpec) -> Option<&'static str> {
    let fields = [
        ("job_id", job.job_id.is_some()),
        ("idempotency_key", job.idempotency_key.is_some()),
        ("run_at", job.run_at.is_some()),
        ("prerequisites", !job.prerequisites.is_empty()),
        ("dependents", !job.dependents.is_empty()),
        ("parent_id", job.parent_id.is_some()),
        ("predecessor_id", job.predecessor_id.is_some()),
    ];
    fields.iter().find(|(_, given)| *given).map(|(field, _)| *field)
}

fn check_texts(spec: &ScheduleSpec) -> Result<(), Error> {
    const MAX_TEXT_BYTES: usize = super::spec::LONGEST_TEXT;
    for (param, text) in [("name", &spec.name), ("idempotency_key", &spec.idempotency_key)] {
        if text.as_ref().is_some_and(|text| text.len() > MAX_TEXT_BYTES) {
            return Err(Error::invalid(param, format!("is longer than {MAX_TEXT_BYTES} bytes")));
        }
    }
    if spec.idempotency_key.as_deref() == Some("") {
        return Err(Error::invalid("idempotency_key", "is empty; leave it out, or name the request"));
    }
    Ok(())
}
