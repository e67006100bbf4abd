use std::collections::BTreeMap;

use redis::Cmd;

use super::create::{Created, NewJob, created};
use super::unexpected;
use super::unstage_jobs::Staging;
use crate::functions::Beginning;
use crate::library::fcall::{Function, word_if};
use crate::network::deadline::DEADLINE;
use crate::relations::checked_relations::CheckedRelations;
use crate::relations::following::Followed;
use crate::relations::staged_group::StagedGroup;
use crate::value::Text;
use crate::views::Jobs;
use crate::{Error, Inner};
use hero_model::{JobId, Status};

const FUNCTION: Function = Function("commit_jobs");

/// The most groups that one caller stages at a time at a server. Further groups wait: a context has places for 64 (`links.lua`).
pub(crate) const STAGED_OF_A_CALLER: usize = 8;
/// The most jobs of a cycle that are named.
const MAX_NAMED_JOBS: usize = 20;
/// The most attempts to stage a group, if an attempt took too long or others used its ids or idempotency keys meanwhile. Also the most
/// attempts to follow its relations, if those of others change meanwhile.
const MAX_ATTEMPTS: usize = 4;
/// The most calls that link other groups first, while too many of them are not linked yet.
const MOST_HELPED: usize = 500;

impl Jobs<'_> {
    /// Stores all of these jobs or none. Jobs that are stored together may name each other.
    ///
    /// Large groups are first staged slice by slice, where they are not visible. Then one step creates them all, and after it they are
    /// entered into their lists some at a time, even if this server ends.
    pub async fn create_all_or_none(self, jobs: &[NewJob]) -> Result<Vec<Created>, Error> {
        if !NewJob::fit_at_once(jobs) && jobs.iter().all(NewJob::may_be_staged) {
            return Box::pin(self.create_staged(jobs)).await;
        }
        let creating = async {
            let answers = self.0.create_all(jobs, true).await?;
            // These jobs share the call with no others, so none has to be sent again.
            Ok(answers.into_iter().map(|answer| answer.unwrap_or(Created::Tangled)).collect())
        };
        if !jobs.iter().any(|job| job.spec.parent_id.is_some() || !job.spec.dependents.is_empty()) {
            // No existing job leads to one of these, so no relations must be followed.
            return creating.await;
        }
        let answers = self.0.relation_budget.in_turn(caller_of(jobs), creating).await?;
        Ok(answers.unwrap_or_else(|| vec![Created::Busy; jobs.len()]))
    }

    async fn create_staged(self, jobs: &[NewJob]) -> Result<Vec<Created>, Error> {
        let (store, mut seen) = (&self.0, CheckedRelations::default());
        let room = tokio::time::timeout(DEADLINE, store.staging_rooms.take(caller_of(jobs), 1)).await;
        let Ok(_room) = room else { return Ok(vec![Created::ManyStaged; jobs.len()]) };
        for _ in 0..MAX_ATTEMPTS {
            let mut group = StagedGroup::of(jobs);
            if let Some(places) = group.cycle() {
                let ids: Vec<JobId> = places.iter().take(MAX_NAMED_JOBS).map(|place| jobs[*place].id.clone()).collect();
                return Ok(group.all_refused(places, &Created::Cycle(ids)));
            }
            let staging = Staging::of(store, &group);
            let decided = match store.stage(&mut group, &mut seen).await {
                Ok(Decided::Stored) if group.is_followed => {
                    let decided = store.relation_budget.in_turn(caller_of(jobs), store.follow_and_commit(&group)).await;
                    decided.map(|decided| decided.unwrap_or_else(|| Decided::Refused(vec![Created::Busy; jobs.len()])))
                }
                Ok(Decided::Stored) => store.commit(&group, "").await,
                refused => refused,
            };
            // A group that was created without an answer stays.
            staging.end(group.is_written && !matches!(decided, Ok(Decided::Stored))).await;
            match decided {
                Ok(Decided::Stored) => {
                    store.link(&group).await?;
                    // Jobs that some of them wait for may have ended meanwhile.
                    store.releases.notify_one();
                    let stored = |(answer, staged)| if staged { Created::Created(Status::Created) } else { answer };
                    return Ok(group.answers.into_iter().zip(group.staged).map(stored).collect());
                }
                Ok(Decided::Refused(answers)) => return Ok(answers),
                Err(error) if !error.not_done() => return Err(error),
                not_done => drop(not_done?),
            }
        }
        Err(Error::Overtaken(MAX_ATTEMPTS))
    }
}

/// Returns the caller that creates these jobs.
fn caller_of(jobs: &[NewJob]) -> &str {
    jobs.iter().find_map(|job| job.spec.caller_id.as_deref()).unwrap_or_default()
}

impl NewJob {
    /// Whether storing the job needs no other change in the same step.
    fn may_be_staged(&self) -> bool {
        !self.start && !self.waited && self.occurrence.is_none() && self.flow.is_none()
    }
}

/// The decision of a step about a group.
enum Decided {
    /// The group is created.
    Stored,
    /// The group is refused.
    Refused(Vec<Created>),
    /// Relations of other jobs have changed since they were followed.
    Changed,
    /// The staged group is gone, or others have used one of its ids or keys: it may be staged again.
    Gone,
}

impl Inner {
    /// Creates a group to which relations of existing jobs lead, if no job would then wait for itself.
    async fn follow_and_commit(&self, group: &StagedGroup<'_>) -> Result<Decided, Error> {
        let mut are_held = false;
        for _ in 0..MAX_ATTEMPTS {
            let revision = match self.follow(group.jobs).await? {
                Followed::Free { revision } => revision,
                Followed::Cycle(ids) => {
                    let places = (0..group.jobs.len()).filter(|place| ids.contains(&group.jobs[*place].id)).collect();
                    return Ok(Decided::Refused(
                        group.all_refused(places, &Created::Cycle(ids.into_iter().take(MAX_NAMED_JOBS).collect())),
                    ));
                }
                Followed::Tangled => return Ok(Decided::Refused(vec![Created::Tangled; group.jobs.len()])),
            };
            if !are_held && let Some(refused) = self.hold(group).await? {
                return Ok(refused.map_or(Decided::Gone, Decided::Refused));
            }
            are_held = true;
            match self.commit(group, &revision).await? {
                Decided::Changed => {}
                decided => return Ok(decided),
            }
        }
        Ok(Decided::Refused(vec![Created::Busy; group.jobs.len()]))
    }

    /// Stages the jobs of a group.
    async fn stage<'g>(&self, group: &mut StagedGroup<'g>, seen: &mut CheckedRelations<'g>) -> Result<Decided, Error> {
        let mut from = 0;
        while from < group.jobs.len() {
            let slice = group.slice(from);
            let new = group.surely_new(from);
            let most = [0, self.bounds.jobs_per_second() as usize];
            let mut call = self.begin_create(self.clock.now(), self.periods.keep_created, ["stage", "-"], most);
            let follows = word_if("followed", group.is_followed);
            call.arg(format!("{} {} {} {new} {follows}", group.id, group.jobs.len(), slice.start + 1)).arg(0).arg(slice.len());
            for place in slice.clone() {
                let job = &group.jobs[place];
                self.encode_job(&mut call, job, &Beginning::Queued, &group.outside(job, seen), &group.fields(place));
            }
            self.memory.add(slice.len(), &call);
            group.is_written = true;
            let answers: Vec<Vec<Text>> = self.commands.function(&call).await?;
            for (place, answer) in slice.clone().zip(answers) {
                let text = |at: usize| answer.get(at).and_then(|text: &Text| text.0.as_deref());
                match text(0) {
                    Some("staged") => {
                        group.take(place, &answer, seen);
                        continue;
                    }
                    Some("gone") => return Ok(Decided::Gone),
                    _ => {}
                }
                match created(&answer)? {
                    Some(same @ Created::Same(..)) => group.answers[place] = same,
                    Some(of_all @ (Created::TooFast(_) | Created::ManyStaged | Created::NoMemory)) => {
                        // Nothing of this slice was written.
                        group.is_written = slice.start > 0;
                        return Ok(Decided::Refused(vec![of_all; group.jobs.len()]));
                    }
                    refused => return Ok(Decided::Refused(group.refused(place, refused.unwrap_or(Created::Tangled)))),
                }
            }
            from = slice.end;
        }
        Ok(Decided::Stored)
    }

    /// Creates the staged group, if relations still have this revision.
    async fn commit(&self, group: &StagedGroup<'_>, revision: &str) -> Result<Decided, Error> {
        if !group.staged.contains(&true) {
            // Each job was created before.
            return Ok(Decided::Refused(group.answers.clone()));
        }
        let mut answer: Vec<Text> = self.commands.function(&self.encode_commit(group, revision)).await?;
        for _ in 0..MOST_HELPED {
            if answer.first().and_then(|text| text.0.as_deref()) != Some("later") {
                break;
            }
            self.link_some("").await?;
            answer = self.commands.function(&self.encode_commit(group, revision)).await?;
        }
        Ok(match answer.first().and_then(|text| text.0.as_deref()) {
            Some("stored") => Decided::Stored,
            Some("changed") => Decided::Changed,
            Some("gone" | "later") => Decided::Gone,
            Some("slow") => Decided::Refused(vec![created(&answer)?.unwrap_or(Created::Busy); group.jobs.len()]),
            _ => return Err(unexpected("commit_jobs", &answer)),
        })
    }

    fn encode_commit(&self, group: &StagedGroup<'_>, revision: &str) -> Cmd {
        let mut call = self.call(&FUNCTION);
        call.arg(group.id.as_str()).arg(group.jobs.len()).arg(self.look());
        call.arg(self.bounds.jobs_per_second()).arg(revision).arg(group.staged_jobs().count());
        let mut types: BTreeMap<&str, usize> = BTreeMap::new();
        group.staged_jobs().for_each(|(_, job)| *types.entry(job.spec.script_type.as_str()).or_default() += 1);
        call.arg(types.len());
        for (script_type, many) in types {
            call.arg(script_type).arg(many);
        }
        let mut others = Vec::new();
        for (_, job) in group.staged_jobs() {
            others.extend(job.spec.job_id.as_ref().map(|id| self.keys.job(id)));
            others.extend(job.digests().map(|[key, _]| self.keys.idempotency(&key)));
        }
        for list in [others, group.links()] {
            call.arg(list.len()).arg(list);
        }
        call
    }
}
