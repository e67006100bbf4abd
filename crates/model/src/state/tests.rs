use super::*;

#[test]
fn nothing_but_a_retry_leaves_a_final_status() {
    for from in [Status::Finished, Status::Error] {
        for event in Event::ALL {
            let expected = match event {
                Event::Retried { blocked: true } => Ok(Status::WaitingForPrerequisites),
                Event::Retried { blocked: false } => Ok(Status::Dispatched),
                _ => Err(Illegal { from, event }),
            };
            assert_eq!(from.on(event), expected);
        }
    }
}

#[test]
fn every_status_that_is_not_final_can_be_stopped() {
    for from in Status::ALL.into_iter().filter(|status| !status.is_final()) {
        assert_eq!(from.on(Event::Stopped), Ok(Status::Error));
    }
}

#[test]
fn a_hash_without_status_counts_as_dispatched() {
    assert_eq!(Status::parse(None), Some(Status::Dispatched));
    assert_eq!(Status::parse(Some("finished")), Some(Status::Finished));
    assert_eq!(Status::parse(Some("odd")), None);
}

#[test]
fn every_variant_of_an_event_is_among_all() {
    let code = include_str!("../state.rs").split("pub enum Event {").nth(1).unwrap().split("\n}").next().unwrap();
    let declared: Vec<&str> = code
        .lines()
        .filter_map(|line| line.strip_prefix("    "))
        .filter(|line| line.starts_with(|first: char| first.is_ascii_uppercase()))
        .map(|line| line.split([' ', ',']).next().unwrap())
        .collect();
    let mut listed = Event::ALL.map(|event| format!("{event:?}").split(' ').next().unwrap().to_owned()).to_vec();
    listed.dedup();
    assert_eq!(listed, declared);
    assert!(Event::ALL.iter().enumerate().all(|(at, event)| !Event::ALL[..at].contains(event)));
}

/// An event in the words of the diagram.
fn label(event: Event) -> &'static str {
    match event {
        Event::Started { next: Next::Later } => "start, run_at is later",
        Event::Started { next: Next::Blocked } => "start, others must end first",
        Event::Started { next: Next::Ready } => "start",
        Event::Due { blocked: true } => "due, others must end first",
        Event::Due { blocked: false } => "due",
        Event::PrerequisitesMet => "the last job it waited for has ended",
        Event::PrerequisiteFailed => "a prerequisite ended in error",
        Event::Claimed => "claimed",
        Event::Succeeded => "the script returned",
        Event::Failed { retry: true } => "failed, attempts are left",
        Event::Failed { retry: false } => "failed",
        Event::Requeued => "requeued",
        Event::LeaseLost { last: false } => "lease lost",
        Event::LeaseLost { last: true } => "lease lost for the third time",
        Event::Stopped => "stopped",
        Event::Retried { blocked: true } => "retry_job, others must end first",
        Event::Retried { blocked: false } => "retry_job",
    }
}

/// The table as a diagram: the ways to create a job, then a line for each event that a status allows.
fn diagram() -> String {
    let entries = ["    [*] --> created: create_job\n", "    [*] --> started: run_and_wait, an actor here has room\n"];
    let lines = Status::ALL.into_iter().flat_map(|from| {
        Event::ALL.into_iter().filter_map(move |event| {
            let to = from.on(event).ok()?;
            Some(format!("    {from} --> {to}: {}\n", label(event)))
        })
    });
    format!("stateDiagram-v2\n{}{}", entries.concat(), lines.collect::<String>())
}

#[test]
fn the_diagram_in_the_architecture_is_the_table() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../ARCHITECTURE.md");
    let text = std::fs::read_to_string(path).unwrap();
    let (before, rest) = text.split_once("```mermaid\n").unwrap();
    let (drawn, after) = rest.split_once("```").unwrap();
    let fresh = diagram();
    if drawn != fresh && std::env::var_os("UPDATE").is_some() {
        std::fs::write(path, format!("{before}```mermaid\n{fresh}```{after}")).unwrap();
        return;
    }
    assert_eq!(drawn, fresh, "the diagram in ARCHITECTURE.md is stale: run `UPDATE=1 cargo test diagram`");
}
