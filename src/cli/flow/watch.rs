use std::collections::{HashMap, HashSet};
use std::time::Duration;

use anyhow::anyhow;
use tokio::time::{Instant, sleep, timeout};

use super::job_outputs::{JobOutput, JobOutputs};
use super::tree::{lines, status_of_job};
use crate::cli::error::advice::{Unstarted, not_started};
use crate::cli::output::{self, Line, Style};
use crate::cli::watch::{Presence, Signals, Stopping, Terminated};
use crate::client::{Client, Error, Follow, Followed};
use crate::exit::Interrupted;
use crate::model::{ContextId, Flow, FlowEvent, FlowId, FlowJob, FlowSpec, Progress, Status};

/// Interval at which the tree is redrawn, as running times change.
const REDRAW_INTERVAL: Duration = Duration::from_millis(200);

/// Interval of progress messages without a terminal.
const MESSAGE_INTERVAL: Duration = Duration::from_secs(2);
/// Timeout for the last changes.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(1);

/// A flow being shown while it runs.
pub(super) struct Watch {
    client: Client,
    /// Whether Ctrl-C stops the flow. Otherwise it ends only the wait.
    interrupt_stops: bool,
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
    /// Shows a flow that exists. `reconnect` is the time to try to reconnect to a server that went away.
    pub(super) fn of(client: Client, context: ContextId, flow: FlowId, reconnect: Duration, interrupt_stops: bool, quiet: bool) -> Self {
        let (told, progress, heard) = (HashMap::new(), HashMap::new(), JobOutputs::new(&client, context));
        Self { client, interrupt_stops, heard, reconnect, context, flow, drawn: 0, told, progress, quiet }
    }

    /// Starts the flow and shows it until it has ended.
    pub(super) async fn start(
        &mut self,
        signals: &mut Signals,
        spec: &FlowSpec,
        limit: Option<Duration>,
    ) -> anyhow::Result<Result<Flow, Error>> {
        let (client, context, flow) = (&self.client.clone(), self.context, self.flow);
        let started = async {
            let changes = client.follow_flow(context, flow, None).await?; // Before the start, so that no change is missed.
            client.begin_flow(spec, flow).await?;
            Ok(changes)
        };
        let started = signals.unless(Unstarted::flow(flow), started).await?;
        let changes = started.map_err(|error| not_started(error, Unstarted::flow(flow)))?;
        self.show(signals, changes, limit).await
    }

    /// Shows the flow until it has ended.
    pub(super) async fn finish(&mut self, signals: &mut Signals, limit: Option<Duration>) -> anyhow::Result<Result<Flow, Error>> {
        let (client, flow) = (self.client.clone(), self.flow);
        let goes_on = || anyhow!("flow {flow} goes on");
        let changes = signals.unless(goes_on(), client.follow_flow(self.context, flow, None)).await??;
        self.show(signals, changes, limit).await
    }

    /// Shows these changes until the flow has ended. If the server goes away, the client reconnects: the flow still
    /// exists when the server is back.
    async fn show(
        &mut self,
        signals: &mut Signals,
        mut changes: Follow<FlowEvent>,
        limit: Option<Duration>,
    ) -> anyhow::Result<Result<Flow, Error>> {
        let (client, context, flow) = (&self.client.clone(), self.context, self.flow);
        let mut presence = Presence::of(client, format!("flow {flow}"), self.reconnect, self.quiet);
        let wait = client.wait_flow(context, flow, limit);
        tokio::pin!(wait);
        let next = || async move {
            sleep(REDRAW_INTERVAL).await;
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
                    if !self.interrupt_stops {
                        return Err(Interrupted(format!("flow {flow} goes on")).into());
                    }
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
                while let Ok(Ok(Followed::Item(change))) = timeout(DRAIN_TIMEOUT, changes.next()).await {
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
                let is_due = !is_terminal && told.is_none_or(|told| told.elapsed() >= MESSAGE_INTERVAL);
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
