//! Shows the jobs of a flow as a tree: each below the last of those that it waits for.

use std::collections::HashMap;

use crate::cli::output::{Line, Style};
use crate::model::{ErrorKind, FlowJob, JobError, Status, Timestamp};

/// Returns one line per job, with additional text from `more`.
pub(super) fn lines(style: Style, jobs: &[FlowJob], more: impl Fn(&FlowJob) -> Option<String>) -> Vec<Line> {
    let places: HashMap<&str, usize> = jobs.iter().enumerate().map(|(at, job)| (job.name.as_str(), at)).collect();
    let parent = |job: &FlowJob| job.depends_on.iter().filter_map(|name| places.get(name.as_str()).copied()).max();
    let mut below: HashMap<Option<usize>, Vec<usize>> = HashMap::new();
    for (at, job) in jobs.iter().enumerate() {
        below.entry(parent(job)).or_default().push(at);
    }
    // The next job to show is last. Without recursion, because a chain may be long.
    let mut open: Vec<(usize, String, bool)> = Vec::new();
    let push = |open: &mut Vec<_>, of: Option<usize>, indent: &str| {
        let children = below.get(&of).map(Vec::as_slice).unwrap_or_default();
        for (number, at) in children.iter().enumerate().rev() {
            open.push((*at, indent.to_owned(), number + 1 == children.len()));
        }
    };
    push(&mut open, None, "");
    let mut lines = Vec::with_capacity(jobs.len());
    while let Some((at, indent, is_last)) = open.pop() {
        let Some(job) = jobs.get(at) else { continue };
        let is_root = parent(job).is_none();
        let branch = match (is_root, is_last) {
            (true, _) => "",
            (_, true) => "└─ ",
            (_, false) => "├─ ",
        };
        lines.push(style.dim(format!("{indent}{branch}")) + line(style, job, jobs, &places, more(job)));
        let next = match (is_root, is_last) {
            (true, _) => indent,
            // A long chain stops moving to the right.
            (_, true) if below.get(&parent(job)).is_some_and(|all| all.len() == 1) && indent.len() >= MAX_INDENT => indent,
            (_, true) => format!("{indent}   "),
            (_, false) => format!("{indent}│  "),
        };
        push(&mut open, Some(at), &next);
    }
    lines
}

/// The maximum indentation of the tree.
const MAX_INDENT: usize = 48;

/// Formats the status of a flow's job. A job that never ran is not shown as failed.
pub(super) fn status_of_job(style: Style, status: Status, kind: Option<ErrorKind>, attempt: u32) -> Line {
    match (status, kind) {
        (Status::Error, Some(ErrorKind::Prerequisite)) => style.yellow("never ran"),
        // To the user it makes no difference whether the flow's stop or the end of a prerequisite came first.
        (Status::Error, Some(ErrorKind::Stopped)) if attempt == 0 => style.yellow("never ran"),
        _ => style.status(status, kind),
    }
}

/// Formats the error of a job, with the names of other jobs instead of their ids.
fn wrong(message: &str, job: &FlowJob, jobs: &[FlowJob], places: &HashMap<&str, usize>) -> String {
    let first = match message.lines().next().unwrap_or_default() {
        "stopped_by_request" => "by request",
        "stopped" => "before it ran",
        other => other,
    };
    let others = job.depends_on.iter().filter_map(|name| jobs.get(*places.get(name.as_str())?));
    others.fold(first.to_owned(), |told, other| told.replace(other.job_id.as_str(), &other.name))
}

/// Where in its script a job went wrong, as far as that is known.
fn place(error: &JobError) -> String {
    match (error.line, error.column) {
        (Some(line), Some(column)) => format!(" (line {line}, column {column})"),
        (Some(line), None) => format!(" (line {line})"),
        _ => String::new(),
    }
}

fn line(style: Style, job: &FlowJob, jobs: &[FlowJob], places: &HashMap<&str, usize>, more: Option<String>) -> Line {
    let kind = job.error.as_ref().map(|error| error.kind);
    let status = job.status.map_or_else(|| style.dim("deleted"), |status| status_of_job(style, status, kind, job.attempt));
    let mut line = Line::from(&job.name) + " " + status;
    if let Some(started) = job.started_at {
        let until = job.finished_at.unwrap_or_else(Timestamp::local);
        line = line + style.dim(format!(" {:.2} s", until.since(started).as_secs_f64()));
    }
    if job.attempt > 1 {
        line = line + style.dim(format!(", attempt {}", job.attempt));
    }
    if let Some(more) = more {
        line = line + " " + style.dim(more);
    }
    if let (Some(Status::Error), Some(error)) = (job.status, &job.error) {
        line = line + ": " + Line::from(wrong(&error.message, job, jobs, places)) + place(error);
    }
    let mut others: Vec<&str> = job.depends_on.iter().filter(|name| places.contains_key(name.as_str())).map(String::as_str).collect();
    others.sort_by_key(|name| places.get(name));
    // The last one is directly above in the tree.
    others.pop();
    if !others.is_empty() {
        line = line + style.dim(format!(" (also after {})", shortened(&others)));
    }
    line
}

fn shortened(names: &[&str]) -> String {
    const MAX_NAMES: usize = 5;
    let shown = names.iter().take(MAX_NAMES).copied().collect::<Vec<_>>().join(", ");
    if names.len() > MAX_NAMES { format!("{shown} and {} more", names.len() - MAX_NAMES) } else { shown }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_job_stands_below_the_last_that_it_waits_for() {
        let job = |name: &str, depends_on: &[&str]| FlowJob {
            name: name.into(),
            job_id: "6f1c4d1e-8f5b-4c7e-9d0a-2b3c4d5e6f70".parse().unwrap(),
            number: 1,
            status: Some(Status::Dispatched),
            depends_on: depends_on.iter().map(|name| (*name).to_owned()).collect(),
            script_type: crate::model::ScriptType::osis(),
            runner: None,
            attempt: 0,
            started_at: None,
            finished_at: None,
            error: None,
        };
        let jobs = [job("a", &[]), job("b", &["a"]), job("c", &["a"]), job("d", &["b", "c"]), job("e", &[])];
        let shown: Vec<String> = lines(Style::coloured(false), &jobs, |_| None).iter().map(|line| line.as_str().to_owned()).collect();
        let with_ids = lines(Style::coloured(false), &jobs[..1], |job| Some(job.job_id.to_string()));
        assert_eq!(with_ids[0].as_str(), "a dispatched 6f1c4d1e-8f5b-4c7e-9d0a-2b3c4d5e6f70");
        // A stop before the failure of a prerequisite is shown the same way.
        let ended = |kind, attempt| status_of_job(Style::coloured(false), Status::Error, Some(kind), attempt).as_str().to_owned();
        assert_eq!(ended(ErrorKind::Stopped, 0), ended(ErrorKind::Prerequisite, 0));
        assert_eq!(ended(ErrorKind::Stopped, 1), "stopped");
        assert_eq!(shown, ["a dispatched", "├─ b dispatched", "└─ c dispatched", "   └─ d dispatched (also after b)", "e dispatched"]);
    }
}
