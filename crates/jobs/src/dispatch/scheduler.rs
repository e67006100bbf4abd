use std::collections::HashSet;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use futures_util::StreamExt as _;

use super::create::log_creation;
use super::pressure::Pressure;
use super::timetable::Timetable;
use hero_access::Authority;
use hero_audit::{Audit, Outcome, Record, Who};
use hero_model::api::Code;
use hero_model::{JobId, JobSpec, Overlap, ScheduleId, ScheduleSpec, Standing, Timestamp};
use hero_service::Service;
use hero_store::{Created, DueKind, Error, Firing, JobView, NewJob, NotFired, Store, StoredSchedule};

/// Creates the jobs of due schedules.
///
/// Any number of servers do so for one context. The call that stores the job also fires its occurrence, so each
/// occurrence has one job, whichever server is first and whichever dies meanwhile.
pub struct Scheduler {
    store: Store,
    pressure: Arc<Pressure>,
    /// The number of due schedules to skip this time, because they could not be served the last time.
    stuck: usize,
    /// Schedules that could not be read, so that each is logged once.
    unreadable: HashSet<ScheduleId>,
    /// The start and the end of the time in which this server checked for occurrences without a break.
    looked: Option<(Timestamp, Timestamp)>,
    /// Whether a call to Redis has failed since then.
    failed: bool,
    /// Whether this pause is for schedules that could not be served.
    retries: bool,
    /// The audit log for fired occurrences.
    audit: Audit,
    /// Tells which callers were deleted, and which may create jobs.
    callers: Arc<OnceLock<Authority>>,
    /// Schedules whose callers may not create jobs, so that each is logged once.
    refused: Mutex<HashSet<ScheduleId>>,
}

/// Maximum number of schedules that are served in one round.
const SCHEDULES_PER_ROUND: usize = 64;
/// Maximum number of schedules that are served at the same time.
const MAX_CONCURRENT_SCHEDULES: usize = 32;
/// A server that has not checked for occurrences for this long was away: its process was stopped, or Redis was nearly
/// full.
const MAX_CHECK_GAP: Duration = Duration::from_secs(15);
/// The same limit after Redis did not answer.
const MAX_OUTAGE_GAP: Duration = Duration::from_secs(5);
/// Time after which a schedule that could not be served is tried again.
const RETRY_DELAY: Duration = Duration::from_secs(1);
/// Maximum number of remembered schedules that were logged.
const MAX_REMEMBERED_SCHEDULES: usize = 1000;

impl Scheduler {
    /// Creates a scheduler for one context.
    pub fn new(store: Store) -> Self {
        let (pressure, unreadable, audit, callers, refused) = Default::default();
        Self { store, pressure, stuck: 0, unreadable, looked: None, failed: false, retries: false, audit, callers, refused }
    }

    /// Returns the scheduler with a memory limit: it creates no jobs while Redis is nearly full.
    pub(super) fn with_pressure(self, pressure: Arc<Pressure>) -> Self {
        Self { pressure, ..self }
    }

    /// Returns the scheduler with an audit log for its jobs.
    pub(super) fn with_audit(self, audit: Audit) -> Self {
        Self { audit, ..self }
    }

    /// Returns the scheduler with a check of callers: it ends schedules of deleted callers, and fires none whose
    /// callers may not create jobs.
    #[doc(hidden)]
    pub fn with_callers(self, callers: Arc<OnceLock<Authority>>) -> Self {
        Self { callers, ..self }
    }

    /// Ends a schedule if its caller was deleted, because nobody may create its jobs. It is kept for a while, so that
    /// it can be inspected.
    async fn end_of_deleted(&self, due: &StoredSchedule, spec: &ScheduleSpec) -> Result<bool, Error> {
        let (Some(callers), Some(caller)) = (self.callers.get(), &spec.job.caller_id) else { return Ok(false) };
        if !callers.is_deleted(caller).await? {
            return Ok(false);
        }
        let (schedule, expected) = (due.id.clone(), due.occurrence);
        let firing = Firing { schedule, expected, occurrence: expected, next: None, missed: 0, overlap: spec.overlap };
        if self.store.schedules().skip_missed(&firing).await? {
            tracing::warn!(schedule = %due.id, context = %self.store.context(), %caller, "a schedule ends because its identity was deleted");
            self.audit
                .note(|| Record { context: Some(self.store.context()), ..Record::new(Who::Schedule(due.id.clone()), "end", Outcome::Ok) });
        }
        Ok(true)
    }

    /// Returns whether the caller of a schedule may create its jobs now.
    async fn standing(&self, due: &StoredSchedule, spec: &ScheduleSpec) -> Result<Standing, Error> {
        let (Some(callers), Some(caller)) = (self.callers.get(), &spec.job.caller_id) else { return Ok(Standing::May) };
        let standing = callers.standing(self.store.context(), caller, true).await?;
        if standing == Standing::May {
            self.refused.lock().unwrap_or_else(PoisonError::into_inner).remove(&due.id);
        }
        Ok(standing)
    }

    /// Records that runs of a schedule were skipped, because its caller may not create jobs.
    fn tell_refusal(&self, due: &StoredSchedule, why: &str) {
        let context = self.store.context();
        let outcome = Outcome::Refused(Code::PermissionDenied.number());
        self.audit.refusal(|| Record { context: Some(context), ..Record::new(Who::Schedule(due.id.clone()), "fire", outcome) });
        let mut refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        if refused.len() >= MAX_REMEMBERED_SCHEDULES {
            refused.clear();
        }
        if refused.insert(due.id.clone()) {
            tracing::warn!(schedule = %due.id, %context, "a schedule is suspended; its runs are skipped: {why}");
        }
    }

    /// Serves a due schedule. Returns false if its occurrence stays due.
    async fn serve(&self, due: &StoredSchedule, table: Option<&Timetable>, here_since: Timestamp) -> Result<bool, Error> {
        if due.lost || due.ended {
            return self.store.schedules().clear(&due.id).await.map(|_| true);
        }
        let (Some(spec), Some(table)) = (&due.spec, table) else { return Ok(false) };
        if self.end_of_deleted(due, spec).await? {
            return Ok(true);
        }
        let lacks = match self.standing(due, spec).await? {
            Standing::May => None,
            Standing::Lacks(why) => Some(why),
            // A run that is skipped now would be lost, although the caller may have had the right all the time.
            Standing::Unread => return Ok(false),
        };
        let now = self.store.clock().now();
        let plan = match &lacks {
            Some(_) => Some(table.plan_for_none(due.occurrence, now)),
            None => table.plan(due.occurrence, due.tried_at, here_since, now),
        };
        let Some(plan) = plan else { return Ok(false) };
        let (mut expected, mut missed, mut last_job) = (due.occurrence, plan.missed, due.last_job.clone());
        let firing = Firing { schedule: due.id.clone(), expected, occurrence: expected, next: plan.next, missed, overlap: spec.overlap };
        if plan.occurrences.is_empty() {
            if self.store.schedules().skip_missed(&firing).await? {
                count(&self.store, if lacks.is_some() { "refused" } else { "missed" }, missed);
                if let Some(why) = lacks {
                    self.tell_refusal(due, &why);
                }
            }
            return Ok(true);
        }
        let following = plan.occurrences.iter().skip(1).copied().map(Some).chain([plan.next]);
        for (occurrence, next) in plan.occurrences.iter().copied().zip(following) {
            let firing = Firing { expected, occurrence, next, missed, ..firing.clone() };
            // An occurrence that cannot be recorded stays due.
            let begun =
                || Record { context: Some(self.store.context()), ..Record::new(Who::Schedule(due.id.clone()), "fire", Outcome::Unknown) };
            let Ok(mut doing) = self.audit.begin(begun) else { return Ok(false) };
            let job = self.job(&spec.job, firing, last_job.as_ref()).await?;
            let (id, script_type) = (job.id.clone(), job.spec.script_type.clone());
            let created = match self.store.jobs().create(job).await {
                Err(Error::Deleting(_)) => {
                    doing.give_up();
                    return Ok(false);
                }
                created => created?,
            };
            if !matches!(created, Created::Created(_)) {
                // Nothing was created here.
                doing.give_up();
            }
            match created {
                Created::Created(_) => {
                    count(&self.store, "fired", 1);
                    log_creation(&self.store, &id, &script_type);
                    doing.end(|record| (record.outcome, record.object) = (Outcome::Ok, Some(format!("job:{id}"))));
                    last_job = Some(id);
                }
                Created::NotFired(NotFired::Skipped) => count(&self.store, "skipped", 1),
                // Another server has fired it.
                Created::NotFired(NotFired::Done) => return Ok(true),
                // There is no room, or the previous job was deleted at this moment.
                _ => return Ok(false),
            }
            count(&self.store, "missed", missed);
            (expected, missed) = (next.unwrap_or(occurrence), 0);
        }
        Ok(true)
    }

    /// Returns the job of an occurrence.
    async fn job(&self, spec: &JobSpec, firing: Firing, last_job: Option<&JobId>) -> Result<NewJob, Error> {
        let mut spec = spec.clone();
        spec.labels.entry("schedule".to_owned()).or_insert_with(|| firing.schedule.to_string());
        // Replaces a label of the schedule with this name: scripts read it as SLOT.
        spec.labels.insert("slot".to_owned(), firing.occurrence.to_string());
        if let (Overlap::Queue, Some(last)) = (firing.overlap, last_job)
            && self.store.jobs().look(last).await? != JobView::Missing
        {
            spec.predecessor_id = Some(last.clone());
        }
        Ok(NewJob { id: JobId::random(), spec, start: true, waited: false, occurrence: Some(firing), flow: None })
    }

    /// Returns the timetable of a due schedule, or `None` if another version wrote the schedule.
    fn timetable(&mut self, due: &StoredSchedule) -> Option<Timetable> {
        let table = due.spec.as_ref().and_then(|spec| Timetable::new(spec, due.created_at).ok());
        if table.is_none() && !due.lost && !due.ended {
            if self.unreadable.len() >= MAX_REMEMBERED_SCHEDULES {
                self.unreadable.clear();
            }
            if self.unreadable.insert(due.id.clone()) {
                tracing::warn!(schedule = %due.id, "a schedule cannot be read and is not run: a newer version wrote it, or another program spoilt it; delete_schedule takes it away");
            }
        }
        table
    }
}

impl Service for Scheduler {
    type Error = Error;

    const NAME: &'static str = "firing schedules";

    async fn tick(&mut self) -> Result<Duration, Error> {
        if !self.pressure.admits_jobs() {
            return Ok(DueKind::POLL_INTERVAL);
        }
        let began = self.store.clock().now();
        let (due, next) = self.store.schedules().due(self.stuck, SCHEDULES_PER_ROUND).await.inspect_err(|_| self.failed = true)?;
        let most = if std::mem::take(&mut self.failed) { MAX_OUTAGE_GAP } else { MAX_CHECK_GAP };
        let here_since = self.looked.filter(|(_, last)| began.since(*last) <= most).map_or(began, |(since, _)| since);
        let due: Vec<(StoredSchedule, Option<Timetable>)> =
            due.into_iter().map(|due| (self.timetable(&due), due)).map(|(table, due)| (due, table)).collect();
        // These are skipped, and do not delay others.
        let unreadable = due.iter().filter(|(due, table)| table.is_none() && !due.lost && !due.ended).count();
        let serving: Vec<_> = due.iter().map(|(due, table)| self.serve(due, table.as_ref(), here_since)).collect();
        let mut served = futures_util::stream::iter(serving).buffer_unordered(MAX_CONCURRENT_SCHEDULES);
        let (mut stuck, mut failure) = (0, None);
        while let Some(served) = served.next().await {
            match served {
                Ok(true) => {}
                Ok(false) => stuck += 1,
                Err(error) => failure = Some(error),
            }
        }
        drop(served);
        self.looked = Some((here_since, self.store.clock().now()));
        let full = due.len() >= SCHEDULES_PER_ROUND;
        stuck += std::mem::take(&mut self.stuck);
        self.retries = !full && stuck > unreadable;
        match failure {
            Some(error) => Err(error),
            None if full => {
                // The stuck schedules come first, so skip them to reach the others.
                self.stuck = stuck;
                Ok(Duration::ZERO)
            }
            None if self.retries => Ok(RETRY_DELAY),
            None => Ok(self.store.pause_until(next)),
        }
    }

    async fn due_early(&mut self) {
        if self.retries {
            std::future::pending::<()>().await;
        }
        self.store.comes_due(DueKind::Occurrences).await;
    }
}

fn count(store: &Store, what: &str, by: u64) {
    if by > 0 {
        metrics::counter!("hero_schedule_slots_total", store.labels([("what", what.to_owned())])).increment(by);
    }
}
