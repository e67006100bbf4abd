mod seen;

use std::collections::{BTreeMap, HashMap, HashSet};

use redis::Cmd;

use self::seen::{LISTS, Seen, list_of};
use super::create::{Created, LOOK_FROM, NewJob, created, digest};
use super::unexpected;
use crate::model::{JobId, Status};
use crate::store::batch::Weight;
use crate::store::codec::{Text, json};
use crate::store::cycle::cycle;
use crate::store::fcall::{Function, list, word_if};
use crate::store::{Error, Inner, Store};

const STAGE: Function = Function("create");
const COMMIT: Function = Function("commit_jobs");

/// As many jobs, relations and bytes as Redis stores at once within some milliseconds. What is more is staged by as much at a time.
const AT_ONCE: (usize, Weight) = (64, Weight { bytes: 256 * 1024, relations: 200 });
/// How many jobs of a cycle are named.
const NAMED: usize = 20;
/// How often a group is staged whose first attempt took too long, or met others that used its idempotency keys meanwhile.
const ATTEMPTS: usize = 4;
/// How many are entered at a time where those have them that they wait for.
const LINKED_AT_ONCE: usize = 64;

impl Store {
    /// Stores all of these jobs or none, in one step. Those that are stored together may name each other.
    ///
    /// Where they are many they are staged first, slice by slice, where nobody sees them: the step itself only renames and enters them.
    pub async fn create_all_or_none(&self, jobs: &[NewJob]) -> Result<Vec<Created>, Error> {
        if !fits_at_once(jobs) && jobs.iter().all(NewJob::may_be_staged) && !may_follow(jobs) {
            return self.0.create_staged(jobs).await;
        }
        let creating = self.0.create_all(jobs, true);
        let answers = if jobs.iter().any(|job| job.spec.parent_id.is_some() || !job.spec.dependents.is_empty()) {
            let caller = jobs.iter().find_map(|job| job.spec.caller_id.as_deref()).unwrap_or_default();
            self.0.relation_budget.in_turn(caller, creating).await?
        } else {
            // No job that exists leads to one of these, so no relations have to be followed.
            Some(creating.await?)
        };
        let Some(answers) = answers else { return Ok(vec![Created::Busy; jobs.len()]) };
        // These jobs share the call with no others, so none has to come again.
        Ok(answers.into_iter().map(|answer| answer.unwrap_or(Created::Tangled)).collect())
    }
}

fn fits_at_once(jobs: &[NewJob]) -> bool {
    let Weight { bytes, relations } = jobs.iter().map(NewJob::weight).sum();
    jobs.len() <= AT_ONCE.0 && bytes <= AT_ONCE.1.bytes && relations <= AT_ONCE.1.relations
}

/// Whether relations of jobs that exist have to be followed to see that none of these waits for itself: some may lead back to these.
fn may_follow(jobs: &[NewJob]) -> bool {
    let waits = |job: &NewJob| job.spec.predecessor_id.is_some() || !job.spec.prerequisites.is_empty();
    jobs.iter().any(|job| !job.spec.dependents.is_empty()) || jobs.iter().any(|job| job.spec.parent_id.is_some()) && jobs.iter().any(waits)
}

impl NewJob {
    /// Whether it is only stored: nothing has to be done for it in the same step.
    fn may_be_staged(&self) -> bool {
        !self.start && !self.waited && self.occurrence.is_none() && self.flow.is_none()
    }
}

/// What a group is about to be.
struct Group<'g> {
    /// Names it among those that are staged.
    id: JobId,
    jobs: &'g [NewJob],
    places: HashMap<&'g JobId, usize>,
    /// The jobs, by those in the group that they have as a prerequisite, or as their predecessor.
    inside: [BTreeMap<usize, Vec<usize>>; 2],
    /// Of each job, whether it is staged, and whether an earlier one of its id left something.
    staged: Vec<Option<bool>>,
    /// How many, from the first on, may have been written.
    written: usize,
    /// What is known of those that are not.
    answers: Vec<Created>,
    /// In which lists of which others jobs need not stand, because these had ended when they were staged.
    ended: Vec<Vec<(usize, &'g JobId)>>,
}

impl<'g> Group<'g> {
    fn of(jobs: &'g [NewJob]) -> Self {
        let places: HashMap<&JobId, usize> = jobs.iter().enumerate().map(|(place, job)| (&job.id, place)).collect();
        let mut inside = [BTreeMap::<usize, Vec<usize>>::new(), BTreeMap::new()];
        for (place, job) in jobs.iter().enumerate() {
            for (relation, other) in job.relations() {
                if let (Some(kind), Some(other)) = (list_of(relation), places.get(other)) {
                    inside[kind].entry(*other).or_default().push(place);
                }
            }
        }
        let staged = vec![None; jobs.len()];
        Self {
            id: JobId::random(),
            jobs,
            places,
            inside,
            staged,
            written: 0,
            answers: vec![Created::None; jobs.len()],
            ended: vec![Vec::new(); jobs.len()],
        }
    }

    /// Jobs of the group that would wait for each other. The start of a job waits for the starts of its prerequisites and its parent, and for the close of its
    /// predecessor; its close waits for its start, and for the closes of its children.
    fn cycle(&self) -> Option<Vec<usize>> {
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

    /// What a job is related to outside of the group, as far as that has to be looked at.
    fn outside(&self, job: &'g NewJob, seen: &Seen<'g>) -> Vec<(&'static str, &'g JobId)> {
        job.relations().filter(|(relation, other)| !self.places.contains_key(other) && !seen.has(relation, other)).collect()
    }

    /// Takes what became of a job that is staged.
    fn take(&mut self, place: usize, answer: &[Text], seen: &mut Seen<'g>) {
        let word = |at: usize| answer.get(at).and_then(|text| text.0.as_deref());
        self.staged[place] = Some(word(1) == Some("1"));
        let ended: HashSet<&str> = (2..answer.len()).filter_map(word).collect();
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

    /// What the hash of a job says of its relations in the group.
    fn fields(&self, place: usize) -> Vec<(String, String)> {
        let job = &self.jobs[place];
        let inside = job.relations().filter(|(relation, other)| list_of(relation).is_some() && self.places.contains_key(other));
        let mut fields: Vec<(String, String)> =
            inside.map(|(relation, other)| (format!("waits:{}:{other}", LISTS[list_of(relation).unwrap_or(0)]), "1".to_owned())).collect();
        if job.relations().next().is_some() {
            fields.extend([("open".to_owned(), fields.len().to_string()), ("linked".to_owned(), "1".to_owned())]);
        }
        if self.inside.iter().any(|waiting| waiting.contains_key(&place)) {
            fields.push(("rel".to_owned(), "-".to_owned()));
        }
        fields
    }

    /// The next slice from a place on.
    fn slice(&self, from: usize) -> std::ops::Range<usize> {
        let mut to = from;
        let mut sum = Weight::default();
        while let Some(job) = self.jobs.get(to) {
            sum = [sum, job.weight()].into_iter().sum();
            if to > from && (to - from >= AT_ONCE.0 || sum.bytes > AT_ONCE.1.bytes || sum.relations > AT_ONCE.1.relations) {
                break;
            }
            to += 1;
        }
        from..to
    }

    /// Who waits for whom, as `links.lua` reads it: lines of those in the list of one other, in texts of some of them.
    fn links(&self) -> Vec<String> {
        let mut lists: BTreeMap<(&str, &JobId), Vec<&str>> = BTreeMap::new();
        for (place, job) in self.staged_jobs() {
            for (relation, other) in job.relations() {
                if let Some(kind) = list_of(relation)
                    && !self.ended[place].contains(&(kind, other))
                {
                    lists.entry((LISTS[kind], other)).or_default().push(job.id.as_str());
                }
            }
        }
        let (mut texts, mut many) = (vec![String::new()], 0);
        for ((what, other), waiting) in lists {
            for some in waiting.chunks(LINKED_AT_ONCE) {
                if many + some.len() > LINKED_AT_ONCE {
                    texts.push(String::new());
                    many = 0;
                }
                many += some.len();
                if let Some(text) = texts.last_mut() {
                    text.extend([what, " ", other.as_str(), " ", &some.join(" "), "\n"]);
                }
            }
        }
        texts.retain(|text| !text.is_empty());
        texts
    }

    /// The jobs that are staged, with their places.
    fn staged_jobs(&self) -> impl Iterator<Item = (usize, &'g NewJob)> {
        self.jobs.iter().enumerate().filter(|(place, _)| self.staged[*place].is_some())
    }

    /// What is answered where one job refuses all.
    fn refused(&self, place: usize, why: Created) -> Vec<Created> {
        let mut answers = vec![Created::None; self.jobs.len()];
        if let Some(answer) = answers.get_mut(place) {
            *answer = why;
        }
        answers
    }
}

impl Inner {
    async fn create_staged(&self, jobs: &[NewJob]) -> Result<Vec<Created>, Error> {
        let mut seen = Seen::default();
        for _ in 0..ATTEMPTS {
            let mut group = Group::of(jobs);
            if let Some(places) = group.cycle() {
                let ids: Vec<JobId> = places.iter().take(NAMED).map(|place| jobs[*place].id.clone()).collect();
                let mut answers = vec![Created::None; jobs.len()];
                places.into_iter().for_each(|place| answers[place] = Created::Cycle(ids.clone()));
                return Ok(answers);
            }
            let answers = match self.stage(&mut group, &mut seen).await {
                Ok(None) => self.commit(&group).await,
                Ok(Some(refused)) => Ok(Some(refused)),
                Err(error) => Err(error),
            };
            match answers {
                Ok(Some(answers)) if answers.iter().all(Created::is_stored) => {
                    if jobs.iter().any(|job| job.relations().next().is_some()) {
                        self.link().await;
                    }
                    // What some of them wait for may have ended meanwhile.
                    self.releases.notify_one();
                    return Ok(answers);
                }
                Err(error) if !error.not_done() => return Err(error),
                not_stored => {
                    // What is left goes by itself within a minute, where it cannot be taken away now.
                    self.unstage(&group.id, &jobs[..group.written]).await;
                    if let Some(answers) = not_stored.transpose() {
                        return answers;
                    }
                }
            }
        }
        Err(Error::Overtaken(ATTEMPTS))
    }

    /// Stages the jobs of a group. Gives the answers if one refuses all.
    async fn stage<'g>(&self, group: &mut Group<'g>, seen: &mut Seen<'g>) -> Result<Option<Vec<Created>>, Error> {
        let mut from = 0;
        // Others may stand for those with a key by now, which are created no more.
        let new = group.jobs.iter().filter(|job| job.spec.idempotency_key.is_none()).count();
        while from < group.jobs.len() {
            let slice = group.slice(from);
            let mut call = self.call(&STAGE);
            call.arg(self.bounds.queue_length())
                .arg(self.periods.keep_created.as_millis() as u64)
                .arg(self.periods.lease.as_millis() as u64);
            call.arg(list(["stage", "-", word_if("look", self.memory.share() > LOOK_FROM)])).arg(list([0, self.bounds.jobs_per_second()]));
            call.arg(format!("{} {} {new}", group.id, slice.start + 1)).arg(0).arg(slice.len());
            for place in slice.clone() {
                let job = &group.jobs[place];
                self.encode_job(&mut call, job, None, &group.outside(job, seen), &group.fields(place));
            }
            self.memory.add(slice.len(), &call);
            group.written = slice.end;
            let answers: Vec<Vec<Text>> = self.commands.function(&call).await?;
            for (place, answer) in slice.clone().zip(answers) {
                let text = |at: usize| answer.get(at).and_then(|text: &Text| text.0.as_deref());
                if text(0) == Some("staged") {
                    group.take(place, &answer, seen);
                    continue;
                }
                match created(&answer)? {
                    Some(same @ Created::Same(..)) => group.answers[place] = same,
                    Some(slow @ Created::TooFast(_)) => {
                        // Nothing of it.
                        group.written = 0;
                        return Ok(Some(vec![slow; group.jobs.len()]));
                    }
                    refused => return Ok(Some(group.refused(place, refused.unwrap_or(Created::Tangled)))),
                }
            }
            from = slice.end;
        }
        Ok(None)
    }

    /// Creates what was staged. Nothing: it is not there any more.
    async fn commit(&self, group: &Group<'_>) -> Result<Option<Vec<Created>>, Error> {
        if group.staged.iter().all(Option::is_none) {
            return Ok(Some(group.answers.clone()));
        }
        let answer: Vec<Text> = self.commands.function(&self.encode_commit(group)).await?;
        let text = |at: usize| answer.get(at).and_then(|text| text.0.as_deref());
        let place = |at: usize| text(at).and_then(|text| text.parse::<usize>().ok()?.checked_sub(1));
        match text(0) {
            Some("stored") => {
                let stored = |(answer, staged): (&Created, &Option<bool>)| match staged {
                    Some(_) => Created::Created(Status::Created),
                    None => answer.clone(),
                };
                let mut answers: Vec<Created> = group.answers.iter().zip(&group.staged).map(stored).collect();
                for at in (1..answer.len()).step_by(3) {
                    if let (Some(place), Some(id)) =
                        (place(at).filter(|place| *place < answers.len()), text(at + 1).and_then(|id| id.parse().ok()))
                    {
                        answers[place] = Created::Same(id, Status::parse(text(at + 2)).unwrap_or(Status::Created));
                    }
                }
                Ok(Some(answers))
            }
            Some("refused") => {
                let why = created(answer.get(2..).unwrap_or_default())?.unwrap_or(Created::Tangled);
                Ok(Some(group.refused(place(1).unwrap_or(0), why)))
            }
            Some("slow" | "closed") => {
                let why = created(&answer)?.unwrap_or(Created::Closed);
                Ok(Some(vec![why; group.jobs.len()]))
            }
            Some("gone") => Ok(None),
            _ => Err(unexpected("commit_jobs", &answer)),
        }
    }

    fn encode_commit(&self, group: &Group<'_>) -> Cmd {
        let mut call = self.call(&COMMIT);
        call.arg(group.id.as_str()).arg(self.periods.keep_created.as_millis() as u64);
        call.arg(word_if("look", self.memory.share() > LOOK_FROM)).arg(self.bounds.jobs_per_second());
        call.arg(group.jobs.iter().map(|job| job.id.as_str()).collect::<Vec<_>>().join(" "));
        let letter = |(job, staged): (&NewJob, &Option<bool>)| match staged {
            None => '-',
            Some(_) if job.spec.job_id.is_none() => 'n',
            Some(false) => 'o',
            Some(true) => 'u',
        };
        call.arg(group.jobs.iter().zip(&group.staged).map(letter).collect::<String>());
        let mut types: BTreeMap<&str, usize> = BTreeMap::new();
        group.staged_jobs().for_each(|(_, job)| *types.entry(job.spec.script_type.as_str()).or_default() += 1);
        call.arg(types.len());
        for (script_type, many) in types {
            call.arg(script_type).arg(many);
        }
        let keyed: Vec<(usize, &NewJob, &String)> =
            group.staged_jobs().filter_map(|(place, job)| Some((place, job, job.spec.idempotency_key.as_ref()?))).collect();
        call.arg(list(keyed.iter().map(|(place, ..)| place + 1)));
        call.arg(keyed.iter().map(|(_, job, key)| job.key_digest(key)).collect::<String>());
        call.arg(keyed.iter().map(|(_, job, _)| digest(&[&json(&job.spec)])).collect::<String>());
        let links = group.links();
        call.arg(links.len()).arg(links);
        call
    }
}
