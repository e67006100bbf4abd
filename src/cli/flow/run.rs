use std::collections::{HashMap, HashSet};
use std::time::Duration;

use anyhow::anyhow;
use clap::Args;
use tokio::time::{Instant, sleep, timeout};

use super::job_outputs::{JobOutput, JobOutputs};
use super::tree::{lines, status_of_job};
use super::{Source, list::status};
use crate::cli::advice::{Unstarted, not_started};
use crate::cli::global::{Global, RECONNECT};
use crate::cli::output::{self, Line, Style};
use crate::cli::run::DEFAULT_TIMEOUT;
use crate::cli::script_error::render;
use crate::cli::watch::{Presence, Signals, Stopping, Terminated};
use crate::client::{Client, Error, Followed, code};
use crate::exit::{Exit, Interrupted};
use crate::model::{
    ContextId, ErrorKind, Flow, FlowEvent, FlowId, FlowJob, FlowSpec, FlowStatus, JobError, Progress, Seconds, Status, parse_time,
};

/// Interval at which the tree is redrawn, as running times change.
const FRAME: Duration = Duration::from_millis(200);

/// Interval of progress messages without a terminal.
const BETWEEN: Duration = Duration::from_secs(2);
/// Timeout for the last changes.
const DRAIN: Duration = Duration::from_secs(1);

/// Runs the flow in a file. Shows its jobs on stderr while they run, and the output of the last ones on stdout. The
/// exit code tells how it ended.
#[derive(Debug, Args)]
pub(in crate::cli) struct Run {
    #[command(flatten)]
    source: Source,
    /// Maximum time to wait for the end. Then exits with code 6 and the flow continues [default: to the end]
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    wait: Option<Duration>,
    /// Time to try to reconnect when the server goes away, as in a restart. The flow continues [default: 30s]
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    reconnect: Option<Duration>,
}

impl Run {
    pub(super) async fn main(&self, global: &Global) -> anyhow::Result<Exit> {
        let spec = self.source.spec()?;
        let reconnect = self.reconnect.unwrap_or(RECONNECT);
        let client = global.connect_to_wait(reconnect, self.wait).await?;
        let flow = client.create_flow(&spec).await?;
        let context = spec.context_id;
        let (told, progress) = Default::default();
        let mut watch = Watch {
            told,
            progress,
            heard: JobOutputs::new(&client, context),
            client,
            context,
            flow,
            reconnect,
            drawn: 0,
            quiet: global.json,
        };
        let mut signals = Signals::new()?;
        let ended = watch.finish(&mut signals, &spec, self.wait).await?;
        match ended {
            Ok(flow) if global.json => output::json(&flow)?,
            Ok(flow) => print(&flow)?,
            Err(error) => {
                let failures = if global.json { Vec::new() } else { failures(&error) };
                if failures.iter().any(|failure| failure.error.kind == ErrorKind::Script) {
                    self.source.arguments.warn_of_json(global.json);
                }
                for Failure { job, error } in &failures {
                    let of_spec = spec.jobs.get(job);
                    let timeout = of_spec.and_then(|job| job.timeout).or_else(|| Seconds::new(DEFAULT_TIMEOUT));
                    let lines = render(Style::stderr(), job, of_spec.map_or("", |job| &job.script), timeout, error);
                    lines.into_iter().for_each(|line| output::tell(line, 2));
                }
                // Only a server that has answered is asked once more.
                if !global.json
                    && error.rpc().is_some()
                    && let Ok(Ok(known)) = signals.unless(anyhow!("flow {flow} has ended"), watch.client.get_flow(context, flow)).await
                    && known.status.is_final()
                {
                    let what = if known.stop_requested { "did not finish" } else { "failed" };
                    output::note(
                        Line::from(format!("flow {flow}: "))
                            + status(Style::stderr(), known.status, known.stop_requested)
                            + format!("; `hero flow show {flow}` shows it, `hero flow retry {flow}` runs what {what} again"),
                    );
                    if error.rpc().is_some_and(|rpc| rpc.code == code::JOB_STOPPED) {
                        // The error would say the same once more.
                        return Ok(Exit::of_client(&error));
                    }
                }
                if !failures.is_empty() {
                    return Ok(Exit::of_client(&error));
                }
                return Err(error.into());
            }
        }
        Ok(Exit::Ok)
    }
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

/// A flow being shown while it runs.
struct Watch {
    client: Client,
    heard: JobOutputs,
    /// Time to try to reconnect to a server that went away.
    reconnect: Duration,
    context: ContextId,
    flow: FlowId,
    /// The number of its lines on the terminal.
    drawn: usize,
    /// The last shown status of each job.
    told: HashMap<String, (Status, Option<u32>)>,
    /// The progress of each job, and the time at which it was last shown.
    progress: HashMap<String, (Progress, Option<Instant>)>,
    quiet: bool,
}

impl Watch {
    /// Starts the flow and shows it until it has ended. If the server goes away, the client reconnects: the flow still
    /// exists when the server is back.
    async fn finish(&mut self, signals: &mut Signals, spec: &FlowSpec, limit: Option<Duration>) -> anyhow::Result<Result<Flow, Error>> {
        let (client, context, flow) = (&self.client.clone(), self.context, self.flow);
        let mut presence = Presence::of(client, format!("flow {flow}"), self.reconnect, self.quiet);
        let started = async {
            let changes = client.follow_flow(context, flow, None).await?; // Before the start, so that no change is missed.
            client.begin_flow(spec, flow).await?;
            Ok(changes)
        };
        let started = signals.unless(Unstarted::flow(flow), started).await?;
        let mut changes = started.map_err(|error| not_started(error, Unstarted::flow(flow)))?;
        let wait = client.wait_flow(context, flow, limit);
        tokio::pin!(wait);
        let next = || async move {
            sleep(FRAME).await;
            client.get_flow(context, flow).await
        };
        let frame = next();
        tokio::pin!(frame);
        let (is_terminal, mut follows, mut is_stopped, mut stopping) = (output::is_watched(), true, false, Stopping::default());
        let result = loop {
            tokio::select! {
                biased;
                change = changes.next(), if follows => match change {
                    Ok(Followed::Item(change)) => self.note(&change, is_terminal),
                    Ok(Followed::Lagged) => {} // The next item has the state of the flow.
                    Ok(Followed::Ended) | Err(_) => follows = false, // The wait below also reports the end.
                },
                Some(said) = self.heard.next() => self.say(said, is_terminal),
                result = &mut wait => break result,
                _ = presence.tell() => {}
                _ = signals.interrupts.recv() => {
                    presence.check()?;
                    if std::mem::replace(&mut is_stopped, true) {
                        return Err(Interrupted(format!("flow {flow} is being stopped")).into());
                    }
                    stopping.ask(async { client.stop_flow(context, flow).await.map(drop) });
                },
                unanswered = stopping.failed() => break Err(unanswered),
                _ = signals.terminations.recv() => return Err(Terminated(format!("flow {flow} goes on")).into()),
                known = &mut frame, if is_terminal && !self.quiet => {
                    known.iter().for_each(|flow| self.draw(flow));
                    frame.set(next());
                }
            }
        };
        let is_over = !matches!(&result, Err(error) if error.rpc().is_none() || error.is_wait_run_out());
        if is_over {
            let rest = async {
                // The changes of short jobs may not have arrived yet.
                while let Ok(Ok(Followed::Item(change))) = timeout(DRAIN, changes.next()).await {
                    self.note(&change, is_terminal);
                }
                let rest = std::mem::replace(&mut self.heard, JobOutputs::new(client, context)).rest().await;
                rest.into_iter().for_each(|said| self.say(said, is_terminal));
                if is_terminal && !self.quiet {
                    client.get_flow(context, flow).await.iter().for_each(|flow| self.draw(flow));
                }
            };
            // A signal ends only this, because the end of the flow is known.
            let _ = signals.unless(anyhow!("flow {flow} has ended"), rest).await;
        }
        Ok(result)
    }

    fn note(&mut self, change: &FlowEvent, is_terminal: bool) {
        if !self.quiet {
            self.heard.note(change);
        }
        if !is_terminal {
            self.tell(change);
        }
    }

    /// Writes one line for a change, without a terminal.
    fn tell(&mut self, change: &FlowEvent) {
        let (Some(job), Some(is)) = (&change.job, change.job_status) else { return };
        // A job reports two changes when it starts and is seen running.
        let is_told = self.told.insert(job.clone(), (is, change.attempt)) == Some((is, change.attempt));
        if !self.quiet && !is_told && matches!(is, Status::Started | Status::Finished | Status::Error) {
            output::note(Line::from(job) + " " + status_of_job(Style::stderr(), is, change.kind, change.attempt.unwrap_or(1)));
        }
    }

    /// Shows a log line of a job, or its progress.
    fn say(&mut self, said: JobOutput, is_terminal: bool) {
        let style = Style::stderr();
        let line = match said {
            JobOutput::Line(job, line) => style.bold(job) + " | " + style.level(line.level) + &line.text,
            JobOutput::Progress(job, progress) => {
                let told = self.progress.get(&job).and_then(|(_, told)| *told);
                let is_due = !is_terminal && told.is_none_or(|told| told.elapsed() >= BETWEEN);
                let line = Line::from(&job) + " " + far(&progress);
                self.progress.insert(job, (progress, if is_due { Some(Instant::now()) } else { told }));
                if !is_due {
                    return;
                }
                line
            }
        };
        if is_terminal {
            // The tree is drawn again below it.
            output::redraw(&[], std::mem::take(&mut self.drawn));
        }
        output::note(line);
    }

    /// Draws the jobs as a tree over the previous one. Jobs that do not fit on the terminal are left out.
    fn draw(&mut self, flow: &Flow) {
        let style = Style::stderr();
        let progress = |job: &FlowJob| {
            let runs = job.status == Some(Status::Started);
            self.progress.get(&job.name).filter(|_| runs).map(|(progress, _)| far(progress))
        };
        let mut shown = lines(style, &flow.jobs, progress);
        let room = output::rows().unwrap_or(24).saturating_sub(3).max(1);
        let ended = flow.jobs.iter().filter(|job| job.status.is_some_and(Status::is_final)).count();
        if shown.len() > room {
            // Running jobs are more interesting than ended or waiting ones.
            let running: HashSet<usize> =
                flow.jobs.iter().enumerate().filter(|(_, job)| job.status == Some(Status::Started)).map(|(at, _)| at).collect();
            shown = running.iter().take(room).filter_map(|at| flow.jobs.get(*at)).map(|job| Line::from(&job.name) + " running").collect();
        }
        shown.push(style.dim(format!("{ended} of {} jobs have ended", flow.jobs.len())));
        output::redraw(&shown, self.drawn);
        self.drawn = shown.len();
    }
}

/// Formats the progress of a job.
fn far(progress: &Progress) -> String {
    if progress.text.is_empty() { progress.value.to_string() } else { format!("{}, {}", progress.value, progress.text) }
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
