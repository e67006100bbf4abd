use std::collections::{BTreeMap, HashMap, HashSet};

use super::checked_relations::{CheckedRelations, LISTS, list_of};
use super::cycle::cycle;
use crate::batch::Weight;
use crate::functions::{Created, NewJob};
use crate::value::Text;
use hero_model::JobId;

/// Larger groups are staged in slices of this size.
const MAX_SLICE: (usize, Weight) = (24, Weight { bytes: 128 * 1024, relations: 100 });
/// The number of jobs that one call enters into the lists of the jobs for which they wait.
const JOBS_PER_LINK_CALL: usize = 64;

impl NewJob {
    /// The most jobs, relations and bytes that Redis stores at once, within some milliseconds.
    pub const MOST_AT_ONCE: (usize, Weight) = (64, Weight { bytes: 128 * 1024, relations: 100 });

    /// Whether one call can store the jobs.
    pub fn fit_at_once(jobs: &[Self]) -> bool {
        let (most, weight): (_, Weight) = (Self::MOST_AT_ONCE, jobs.iter().map(Self::weight).sum());
        jobs.len() <= most.0 && weight.bytes <= most.1.bytes && weight.relations <= most.1.relations
    }
}

/// A group of jobs that are about to be stored in one step.
pub(crate) struct StagedGroup<'g> {
    /// The id of the group among the staged groups.
    pub(crate) id: JobId,
    pub(crate) jobs: &'g [NewJob],
    places: HashMap<&'g JobId, usize>,
    /// For each job of the group the other jobs of the group that wait for it, as their prerequisite or as their predecessor.
    inside: [BTreeMap<usize, Vec<usize>>; 2],
    /// Whether each job is staged.
    pub(crate) staged: Vec<bool>,
    /// Whether a part of the group may have been written.
    pub(crate) is_written: bool,
    /// Whether existing jobs may lead to jobs of the group, so that relations must be followed.
    pub(crate) is_followed: bool,
    /// The answers for the jobs that are not staged.
    pub(crate) answers: Vec<Created>,
    /// For each job the lists of others in which it need not stand, because these others had ended when the job was staged.
    ended: Vec<Vec<(usize, &'g JobId)>>,
}

impl<'g> StagedGroup<'g> {
    pub(crate) fn of(jobs: &'g [NewJob]) -> Self {
        let places: HashMap<&JobId, usize> = jobs.iter().enumerate().map(|(place, job)| (&job.id, place)).collect();
        let mut inside = [BTreeMap::<usize, Vec<usize>>::new(), BTreeMap::new()];
        for (place, job) in jobs.iter().enumerate() {
            for (relation, other) in job.relations() {
                if let (Some(kind), Some(other)) = (list_of(relation), places.get(other)) {
                    inside[kind].entry(*other).or_default().push(place);
                }
            }
        }
        let is_outside = |other: &JobId| !places.contains_key(other);
        let waits = |job: &NewJob| job.spec.predecessor_id.is_some() || !job.spec.prerequisites.is_empty();
        let is_followed = jobs.iter().any(|job| job.spec.dependents.iter().any(is_outside))
            || jobs.iter().any(|job| job.spec.parent_id.as_ref().is_some_and(is_outside)) && jobs.iter().any(waits);
        let staged = vec![false; jobs.len()];
        Self {
            id: JobId::random(),
            jobs,
            places,
            inside,
            staged,
            is_written: false,
            is_followed,
            answers: vec![Created::None; jobs.len()],
            ended: vec![Vec::new(); jobs.len()],
        }
    }

    /// Returns jobs of the group that would wait for each other. The start of a job waits for the starts of its prerequisites and its
    /// parent, and for the close of its predecessor. Its close waits for its start and for the closes of its children.
    pub(crate) fn cycle(&self) -> Option<Vec<usize>> {
        let mut leads_to: Vec<Vec<usize>> = vec![Vec::new(); 2 * self.jobs.len()];
        let (start, close) = (|place: usize| 2 * place, |place: usize| 2 * place + 1);
        for (place, job) in self.jobs.iter().enumerate() {
            leads_to[close(place)].push(start(place));
            for (relation, other) in job.relations() {
                let Some(other) = self.places.get(other).copied() else { continue };
                leads_to[start(place)].push(if relation == "predecessor" { close(other) } else { start(other) });
                if relation == "parent" {
                    leads_to[close(other)].push(close(place));
                }
            }
        }
        let mut places: Vec<usize> = Vec::new();
        for node in cycle(&leads_to)? {
            if places.last() != Some(&(node / 2)) {
                places.push(node / 2);
            }
        }
        Some(places)
    }

    /// Returns the relations of a job to jobs outside of the group, as far as they must be checked.
    pub(crate) fn outside(&self, job: &'g NewJob, seen: &CheckedRelations<'g>) -> Vec<(&'static str, &'g JobId)> {
        job.relations().filter(|(relation, other)| !self.places.contains_key(other) && !seen.has(relation, other)).collect()
    }

    /// Takes the answer for a job that was staged.
    pub(crate) fn take(&mut self, place: usize, answer: &[Text], seen: &mut CheckedRelations<'g>) {
        self.staged[place] = true;
        let ended: HashSet<&str> = answer.iter().skip(1).filter_map(|text| text.0.as_deref()).collect();
        for (relation, other) in self.jobs[place].relations().filter(|(_, other)| !self.places.contains_key(other)) {
            match list_of(relation) {
                None => {
                    seen.parents.insert(other);
                }
                Some(kind) if ended.contains(&*format!("{} {other}", LISTS[kind])) || seen.ended.contains(&(kind, other)) => {
                    seen.ended.insert((kind, other));
                    self.ended[place].push((kind, other));
                }
                Some(_) => {}
            }
        }
    }

    /// Returns the fields of a job's hash about its relations in the group.
    pub(crate) fn fields(&self, place: usize) -> Vec<(String, String)> {
        let job = &self.jobs[place];
        let inside = job.relations().filter(|(relation, other)| list_of(relation).is_some() && self.places.contains_key(other));
        let mut fields: Vec<(String, String)> =
            inside.map(|(relation, other)| (format!("waits:{}:{other}", LISTS[list_of(relation).unwrap_or(0)]), "1".to_owned())).collect();
        if job.relations().next().is_some() {
            fields.extend([("open".to_owned(), fields.len().to_string()), ("linked".to_owned(), "1".to_owned())]);
        }
        if self.inside.iter().any(|waiting| waiting.contains_key(&place)) || self.dependents(job).next().is_some() {
            fields.push(("rel".to_owned(), "-".to_owned()));
        }
        fields
    }

    /// Returns the next slice from a place on.
    pub(crate) fn slice(&self, from: usize) -> std::ops::Range<usize> {
        let mut to = from;
        let mut sum = Weight::default();
        while let Some(job) = self.jobs.get(to) {
            sum = [sum, job.weight()].into_iter().sum();
            if to > from && (to - from >= MAX_SLICE.0 || sum.bytes > MAX_SLICE.1.bytes || sum.relations > MAX_SLICE.1.relations) {
                break;
            }
            to += 1;
        }
        from..to
    }

    /// Returns existing jobs that are to wait for this job of the group.
    pub(crate) fn dependents<'j>(&self, job: &'j NewJob) -> impl Iterator<Item = &'j JobId> {
        job.spec.dependents.iter().filter(|other| !self.places.contains_key(other))
    }

    /// Returns the waiting jobs of the created group in the format of `links.lua`: one line for the waiting jobs in one list of one job.
    /// Each text has some of the lines.
    pub(crate) fn links(&self) -> Vec<String> {
        let mut lists: BTreeMap<(&str, &JobId), Vec<&str>> = BTreeMap::new();
        for (place, job) in self.staged_jobs() {
            for (relation, other) in job.relations() {
                if let Some(kind) = list_of(relation)
                    && !self.ended[place].contains(&(kind, other))
                {
                    lists.entry((LISTS[kind], other)).or_default().push(job.id.as_str());
                }
            }
            let waiting: Vec<&str> = self.dependents(job).map(JobId::as_str).collect();
            if !waiting.is_empty() {
                lists.entry((LISTS[0], &job.id)).or_default().extend(waiting);
            }
        }
        let (mut texts, mut text, mut many) = (Vec::new(), String::new(), 0);
        for ((what, other), waiting) in lists {
            for some in waiting.chunks(JOBS_PER_LINK_CALL) {
                if many + some.len() > JOBS_PER_LINK_CALL {
                    texts.push(std::mem::take(&mut text));
                    many = 0;
                }
                many += some.len();
                text.extend([what, " ", other.as_str(), " ", &some.join(" "), "\n"]);
            }
        }
        texts.extend((!text.is_empty()).then_some(text));
        texts
    }

    /// Returns the staged jobs with their places.
    pub(crate) fn staged_jobs(&self) -> impl Iterator<Item = (usize, &'g NewJob)> {
        self.jobs.iter().enumerate().filter(|(place, _)| self.staged[*place])
    }

    /// Counts the jobs that are staged already, or will be because they have no idempotency key that can stand for another job.
    pub(crate) fn surely_new(&self, from: usize) -> usize {
        let staged = self.staged.iter().take(from).filter(|staged| **staged).count();
        staged + self.jobs.iter().skip(from).filter(|job| job.spec.idempotency_key.is_none()).count()
    }

    /// Returns the place of the last staged job.
    pub(crate) fn last_staged(&self) -> Option<usize> {
        self.staged.iter().rposition(|staged| *staged)
    }

    /// Returns the answers if these jobs cause the refusal of all, or if the cause is unknown.
    pub(crate) fn all_refused(&self, mut places: Vec<usize>, why: &Created) -> Vec<Created> {
        let mut answers = vec![Created::None; self.jobs.len()];
        if places.is_empty() {
            places.push(0);
        }
        places.into_iter().for_each(|place| answers[place] = why.clone());
        answers
    }

    /// Returns the answers if one job causes the refusal of all.
    pub(crate) fn refused(&self, place: usize, why: Created) -> Vec<Created> {
        let mut answers = vec![Created::None; self.jobs.len()];
        if let Some(answer) = answers.get_mut(place) {
            *answer = why;
        }
        answers
    }
}
