use std::collections::HashMap;
use std::fmt::Write as _;

use hero_model::{FlowJob, Status};

/// Returns the jobs of a flow as a Mermaid graph: each job is a box in the colour of its status, with an arrow to each
/// job that waits for it.
pub fn to_mermaid(jobs: &[FlowJob]) -> String {
    let mut text = "flowchart TD\n".to_owned();
    let places: HashMap<&str, usize> = jobs.iter().enumerate().map(|(at, job)| (job.name.as_str(), at)).collect();
    for (at, job) in jobs.iter().enumerate() {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "  j{at}[\"{}\"]:::{}", job.name, class(job.status));
    }
    for (at, job) in jobs.iter().enumerate() {
        for other in job.depends_on.iter().filter_map(|name| places.get(name.as_str())) {
            let _ = writeln!(text, "  j{other} --> j{at}");
        }
    }
    for (class, colour) in [("waiting", "#eee"), ("running", "#cde"), ("finished", "#cec"), ("error", "#ecc")] {
        let _ = writeln!(text, "  classDef {class} fill:{colour},stroke:#666,color:#000");
    }
    text
}

fn class(status: Option<Status>) -> &'static str {
    match status {
        Some(Status::Started) => "running",
        Some(Status::Finished) => "finished",
        Some(Status::Error) | None => "error",
        Some(_) => "waiting",
    }
}
