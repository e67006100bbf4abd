//! Checks the jobs of a flow as a whole, and finds the order in which they can run.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fmt;

use hero_model::{FlowJobSpec, FlowSpec, nearest};

/// Maximum number of jobs of a flow.
pub(super) const MOST_JOBS: usize = 1000;
/// Maximum number of relations between the jobs of a flow.
const MOST_RELATIONS: usize = 20_000;
/// Maximum length of the name of a job, in bytes.
const LONGEST_NAME: usize = 64;
/// Maximum number of jobs of a cycle in a message.
const MOST_NAMED: usize = 10;
/// Maximum number of problems that are reported at a time.
const MOST_TOLD: usize = 20;

/// An error in a flow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The job that has the error; `None` if the error concerns the whole flow.
    pub job: Option<String>,
    /// The name in its `depends_on` that has the error.
    pub depends_on: Option<String>,
    /// The error, and what to do.
    pub message: String,
}

impl Problem {
    fn of_flow(message: String) -> Self {
        Self { job: None, depends_on: None, message }
    }

    fn of_job(job: &str, message: String) -> Self {
        Self { job: Some(job.to_owned()), depends_on: None, message }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.job, &self.depends_on) {
            (Some(job), Some(_)) => write!(f, "jobs.{job}.depends_on: {}", self.message),
            (Some(job), None) => write!(f, "jobs.{job}: {}", self.message),
            (None, _) => write!(f, "jobs: {}", self.message),
        }
    }
}

/// Returns all errors in the jobs of a flow as a whole: names, dependencies, cycles. The dispatcher checks each single
/// job.
pub fn problems(spec: &FlowSpec) -> Vec<Problem> {
    let jobs = &spec.jobs;
    let mut found = Vec::new();
    if jobs.is_empty() {
        found.push(Problem::of_flow("a flow needs at least one job".to_owned()));
    }
    if jobs.len() > MOST_JOBS {
        found.push(Problem::of_flow(format!("a flow may have {MOST_JOBS} jobs, this one has {}", jobs.len())));
        return found;
    }
    let relations: usize = jobs.values().map(|job| job.depends_on.len()).sum();
    if relations > MOST_RELATIONS {
        let message = format!(
            "the jobs of a flow may wait for each other {MOST_RELATIONS} times, these do {relations} times; a job in between helps"
        );
        found.push(Problem::of_flow(message));
        return found;
    }
    for (name, job) in jobs {
        if !is_name(name) {
            let message =
                format!("{name:?} is no name for a job: up to {LONGEST_NAME} letters, digits and '_', not beginning with a digit");
            found.push(Problem::of_job(name, message));
        }
        if job.runner.is_some() && job.group.is_some() {
            found.push(Problem::of_job(
                name,
                "names a runner and a group; a runner has a group of its own, so leave the group out".to_owned(),
            ));
        }
        found.extend(dependency_problems(name, job, jobs));
        if found.len() >= MOST_TOLD {
            found.truncate(MOST_TOLD);
            return found;
        }
    }
    if found.is_empty()
        && let Some(cycle) = cycle(jobs)
    {
        found.push(cycle);
    }
    found
}

fn dependency_problems(name: &str, job: &FlowJobSpec, jobs: &BTreeMap<String, FlowJobSpec>) -> Vec<Problem> {
    let mut seen = HashSet::new();
    let problem = |other: &String, message| Problem { job: Some(name.to_owned()), depends_on: Some(other.clone()), message };
    let problem_with = |other: &String| {
        if other == name {
            return Some(problem(other, "the job waits for itself".to_owned()));
        }
        if !jobs.contains_key(other) {
            let near = nearest(other, jobs.keys()).map_or_else(String::new, |near| format!("; is {near:?} meant?"));
            return Some(problem(other, format!("the flow has no job {other:?}{near}")));
        }
        (!seen.insert(other.clone())).then(|| problem(other, format!("{other:?} stands there twice")))
    };
    job.depends_on.iter().filter_map(problem_with).take(MOST_TOLD).collect()
}

fn is_name(name: &str) -> bool {
    let begins = name.bytes().next().is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_');
    begins && name.len() <= LONGEST_NAME && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// Returns the names of the jobs of a flow, each after those that it waits for, and otherwise in alphabetical order.
/// Leaves out jobs that wait for each other, or for missing jobs.
pub fn order(spec: &FlowSpec) -> Vec<&str> {
    let jobs = &spec.jobs;
    let mut open: BTreeMap<&str, usize> = jobs.iter().map(|(name, job)| (name.as_str(), job.depends_on.len())).collect();
    let mut dependents: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (name, job) in jobs {
        for other in &job.depends_on {
            dependents.entry(other).or_default().push(name);
        }
    }
    let mut ready: BTreeSet<&str> = open.iter().filter(|(_, open)| **open == 0).map(|(name, _)| *name).collect();
    let mut order = Vec::with_capacity(jobs.len());
    while !ready.is_empty() {
        // Layer by layer, so that jobs that can run in parallel are next to each other.
        for name in std::mem::take(&mut ready) {
            order.push(name);
            for dependent in dependents.get(name).into_iter().flatten() {
                let Some(open) = open.get_mut(dependent) else { continue };
                *open = open.saturating_sub(1);
                if *open == 0 {
                    ready.insert(dependent);
                }
            }
        }
    }
    order
}

/// Returns a cycle of jobs that wait for each other, if there is one.
fn cycle(jobs: &BTreeMap<String, FlowJobSpec>) -> Option<Problem> {
    let spec = FlowSpec { jobs: jobs.clone(), ..FlowSpec::default() };
    let placed: HashSet<&str> = order(&spec).into_iter().collect();
    let first = jobs.keys().find(|name| !placed.contains(name.as_str()))?;
    // Each remaining job waits for another remaining one, so this path leads into a cycle.
    let (mut path, mut at) = (vec![first.as_str()], first.as_str());
    let (from, last) = loop {
        let job = jobs.get(at)?;
        let next = job.depends_on.iter().find(|other| !placed.contains(other.as_str()))?;
        if let Some(from) = path.iter().position(|name| name == next) {
            break (from, at);
        }
        path.push(next);
        at = next;
    };
    let round = &path[from..];
    let mut named: Vec<&str> = round.iter().take(MOST_NAMED).copied().collect();
    if round.len() > MOST_NAMED {
        named.push("…");
    }
    named.push(round.first()?);
    let message = format!("jobs wait for each other: {} (each waits for the next)", named.join(" → "));
    Some(Problem { job: Some(last.to_owned()), depends_on: Some((*round.first()?).to_owned()), message })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flow(jobs: &[(&str, &[&str])]) -> FlowSpec {
        let job = |depends_on: &[&str]| FlowJobSpec {
            depends_on: depends_on.iter().map(|name| (*name).to_owned()).collect(),
            ..FlowJobSpec::default()
        };
        FlowSpec { jobs: jobs.iter().map(|(name, depends_on)| ((*name).to_owned(), job(depends_on))).collect(), ..FlowSpec::default() }
    }

    fn told(jobs: &[(&str, &[&str])]) -> Vec<String> {
        problems(&flow(jobs)).iter().map(Problem::to_string).collect()
    }

    #[test]
    fn each_job_stands_behind_those_that_it_waits_for() {
        let diamond = flow(&[("a", &["d"]), ("b", &["d"]), ("c", &["a", "b"]), ("d", &[])]);
        assert_eq!(order(&diamond), ["d", "a", "b", "c"]);
        assert_eq!(problems(&diamond), []);
    }

    #[test]
    fn a_cycle_is_named_in_its_order() {
        let cycle = [("build", &["ship"][..]), ("ship", &["test"]), ("start", &[]), ("test", &["build", "start"])];
        assert_eq!(told(&cycle), ["jobs.test.depends_on: jobs wait for each other: build → ship → test → build (each waits for the next)"]);
    }

    #[test]
    fn what_is_wrong_with_names_is_said_of_each() {
        assert_eq!(told(&[]), ["jobs: a flow needs at least one job"]);
        assert_eq!(
            told(&[("build", &["biuld", "build"]), ("9", &["build", "build"])]),
            [
                r#"jobs.9: "9" is no name for a job: up to 64 letters, digits and '_', not beginning with a digit"#,
                r#"jobs.9.depends_on: "build" stands there twice"#,
                r#"jobs.build.depends_on: the flow has no job "biuld"; is "build" meant?"#,
                "jobs.build.depends_on: the job waits for itself",
            ]
        );
    }

    #[test]
    fn a_long_cycle_is_named_in_part() {
        let names: Vec<String> = (0..30).map(|at| format!("j{at:02}")).collect();
        let next: Vec<[&str; 1]> = (0..30).map(|at| [names[(at + 1) % 30].as_str()]).collect();
        let jobs: Vec<(&str, &[&str])> = names.iter().zip(&next).map(|(name, next)| (name.as_str(), next.as_slice())).collect();
        let told = told(&jobs);
        assert!(told[0].contains("j09 → … → j00"), "{told:?}");
    }
}
