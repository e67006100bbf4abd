//! The end of a flow that was watched.

use std::collections::HashSet;

use anyhow::anyhow;

use super::Source;
use super::list::status;
use crate::cli::error::script_error::render;
use crate::cli::global::Global;
use crate::cli::output::{self, Line, Style};
use crate::cli::watch::Signals;
use crate::client::{Client, Error, code};
use crate::exit::Exit;
use crate::model::{ContextId, ErrorKind, Flow, FlowId, FlowSpec, FlowStatus, JobError, JobSpec};

/// Prints how a flow has ended: the output of its last jobs on stdout, or its failures on stderr. `made_of` is what it was
/// made of, if that is known.
pub(super) async fn report(
    global: &Global,
    client: &Client,
    signals: &mut Signals,
    (context, flow): (ContextId, FlowId),
    made_of: Option<(&Source, &FlowSpec)>,
    ended: Result<Flow, Error>,
) -> anyhow::Result<Exit> {
    let error = match ended {
        Ok(flow) if global.json => return output::json(&flow).map(|()| Exit::Ok),
        Ok(flow) => return print(&flow).map(|()| Exit::Ok),
        Err(error) => error,
    };
    let failures = if global.json { Vec::new() } else { failures(&error) };
    if let Some((source, _)) = made_of
        && failures.iter().any(|failure| failure.error.kind == ErrorKind::Script)
    {
        source.arguments.warn_of_json(global.json);
    }
    for Failure { job, error } in &failures {
        let of_spec = made_of.and_then(|(_, spec)| spec.jobs.get(job));
        let timeout = of_spec.map(|job| job.timeout.unwrap_or(JobSpec::DEFAULT_TIMEOUT.into()));
        let lines = render(Style::stderr(), job, of_spec.map_or("", |job| &job.script), timeout, error);
        lines.into_iter().for_each(|line| output::tell(line, 2));
    }
    // Only a server that has answered is asked once more.
    if !global.json
        && error.rpc().is_some()
        && let Ok(Ok(known)) = signals.unless(anyhow!("flow {flow} has ended"), client.get_flow(context, flow)).await
        && known.status.is_final()
    {
        let what = if known.stop_requested { "did not finish" } else { "failed" };
        let there = if context.0 == 0 { String::new() } else { format!(" --context {context}") };
        output::note(
            Line::from(format!("flow {flow}: "))
                + status(Style::stderr(), known.status, known.stop_requested)
                + format!("; `hero flow show {flow}{there}` shows it, `hero flow retry {flow}{there}` runs what {what} again"),
        );
        if error.rpc().is_some_and(|rpc| rpc.code == code::JOB_STOPPED) {
            // The error would say the same once more.
            return Ok(Exit::of_client(&error));
        }
    }
    if !failures.is_empty() {
        return Ok(Exit::of_client(&error));
    }
    Err(error.into())
}

/// A job that made its flow fail.
#[derive(serde::Deserialize)]
struct Failure {
    job: String,
    error: JobError,
}

/// Returns the jobs that made a flow fail, as far as its error names them.
fn failures(error: &Error) -> Vec<Failure> {
    let failed = error.rpc().filter(|rpc| rpc.code == code::JOB_FAILED).and_then(|rpc| rpc.data.as_ref()?.get("failed").cloned());
    failed.and_then(|failed| serde_json::from_value(failed).ok()).unwrap_or_default()
}

/// Prints the outputs of the jobs that no other job waits for: the results of the flow.
fn print(flow: &Flow) -> anyhow::Result<()> {
    let awaited: HashSet<&str> = flow.jobs.iter().flat_map(|job| &job.depends_on).map(String::as_str).collect();
    let last: Vec<(&String, &String)> = flow.result.iter().filter(|(name, _)| !awaited.contains(name.as_str())).collect();
    match last.as_slice() {
        [(_, output)] if output.is_empty() => Ok(()),
        [(_, output)] => output::text(output),
        several => several.iter().try_for_each(|(name, output)| output::text(&format!("{name}: {output}"))),
    }?;
    if flow.truncated {
        output::note(Style::stderr().dim("some outputs are too long for the result of the flow; hero job show prints each"));
    }
    debug_assert!(flow.status != FlowStatus::Error);
    Ok(())
}
