use std::cell::RefCell;
use std::convert::Infallible;
use std::time::Duration;

use anyhow::anyhow;
use futures_util::future::BoxFuture;
use futures_util::stream::{BoxStream, StreamExt as _};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::{Instant, MissedTickBehavior, interval, sleep};

use super::output::{self, Style};
use crate::cli::error::translate::translated;
use crate::cli::output::progress::Progress;
use crate::client::{Client, Error, Follow, Followed, State, code};
use crate::exit::{Interrupted, chain};
use crate::model::{ContextId, Explanation, JobId, JobResult, LogLine, Reason};

/// The number of log lines per page.
pub(super) const LINES_PER_PAGE: usize = 1000;
/// Timeout for the last lines of a job that has ended.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(5);
/// Time after which to ask first why a job has not ended.
const FIRST_CHECK_AFTER: Duration = Duration::from_millis(300);
/// Interval for requests of these last lines.
const DRAIN_POLL: Duration = Duration::from_millis(50);

/// A wait for a job, with its log if that was subscribed to.
pub(super) struct Watch<'a> {
    pub(super) client: Client,
    pub(super) context: ContextId,
    pub(super) job_id: &'a JobId,
    /// Its log, subscribed to before the job started, so that no line is missed.
    pub(super) logs: Option<Follow<LogLine>>,
    /// The maximum time to wait; `None` waits to the end.
    pub(super) limit: Option<Duration>,
    /// Time to try to reconnect to a server that went away.
    pub(super) reconnect: Duration,
    /// Whether Ctrl-C stops the job; otherwise it ends the wait.
    pub(super) interrupt_stops: bool,
    /// Whether to show no progress.
    pub(super) quiet: bool,
}

/// The signals that end a command.
pub(super) struct Signals {
    pub(super) interrupts: Signal,
    pub(super) terminations: Signal,
}

impl Signals {
    pub(super) fn new() -> std::io::Result<Self> {
        Ok(Self { interrupts: signal(SignalKind::interrupt())?, terminations: signal(SignalKind::terminate())? })
    }

    /// Returns what `work` gives, unless a signal ends the command first. The error then says what is `left` behind.
    pub(super) async fn unless<T>(&mut self, left: impl Into<anyhow::Error>, work: impl Future<Output = T>) -> anyhow::Result<T> {
        let left = left.into();
        let told = left.to_string();
        tokio::select! {
            biased;
            _ = self.interrupts.recv() => Err(left.context(Interrupted(told))),
            _ = self.terminations.recv() => Err(left.context(Terminated(told))),
            done = work => Ok(done),
        }
    }
}

/// SIGTERM ended a command early. The text says what becomes of that for which it waited.
#[derive(Debug, thiserror::Error)]
#[error("ended by SIGTERM; {0}")]
pub(super) struct Terminated(pub(super) String);

/// A stop requested by Ctrl-C. Signals are still handled while it is under way.
#[derive(Default)]
pub(super) struct Stopping<'s>(Option<BoxFuture<'s, Result<(), Error>>>);

impl<'s> Stopping<'s> {
    pub(super) fn ask(&mut self, stop: impl Future<Output = Result<(), Error>> + Send + 's) {
        self.0 = Some(Box::pin(stop));
    }

    /// Returns the error if the stop got no answer. Ignores a refusal, which means that the job has already ended; the
    /// wait reports that.
    pub(super) async fn failed(&mut self) -> Error {
        if let Some(stop) = &mut self.0 {
            let stopped = stop.await;
            self.0 = None;
            if let Err(error) = stopped
                && error.rpc().is_none()
            {
                return error;
            }
        }
        std::future::pending().await
    }
}

/// Reports whether the server is reachable, to a command that waits for `what`.
pub(super) struct Presence {
    what: String,
    patience: Duration,
    quiet: bool,
    is_away: bool,
    states: BoxStream<'static, State>,
}

impl Presence {
    pub(super) fn of(client: &Client, what: String, patience: Duration, quiet: bool) -> Self {
        Self { what, patience, quiet, is_away: false, states: client.states().boxed() }
    }

    /// Reports each time the server goes away.
    pub(super) async fn tell(&mut self) -> Infallible {
        while let Some(state) = self.states.next().await {
            let was_away = std::mem::replace(&mut self.is_away, !matches!(state, State::Open));
            if let (State::Waiting { error, .. }, false, false) = (state, was_away, self.quiet) {
                let (what, seconds) = (&self.what, self.patience.as_secs_f64());
                output::note(Style::stderr().dim(format!("-- {error}; {what} goes on; looking for the server for {seconds:.0} s --")));
            }
        }
        std::future::pending().await
    }

    /// Fails while the server is away: then Ctrl-C cannot stop anything.
    pub(super) fn check(&self) -> anyhow::Result<()> {
        if self.is_away {
            return Err(Interrupted(format!("{} goes on", self.what)).into());
        }
        Ok(())
    }
}

/// The known state of a job that has not ended.
struct News {
    told: String,
    runs: bool,
}

impl Watch<'_> {
    /// Waits for the end of the job and passes every line of its log to `line`, the last one before returning. If the
    /// server goes away, the client reconnects: the job still exists when the server is back.
    pub(super) async fn finish(mut self, mut line: impl FnMut(&LogLine) -> anyhow::Result<()>) -> anyhow::Result<Result<JobResult, Error>> {
        let mut signals = Signals::new()?;
        let (client, context, job_id) = (&self.client.clone(), self.context, self.job_id);
        let mut presence = Presence::of(client, format!("job {job_id}"), self.reconnect, self.quiet);
        let mut progress = Progress::new(self.quiet);
        let mut ticks = interval(progress.every());
        ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
        let wait = client.wait_to_the_end(context, job_id, self.limit);
        tokio::pin!(wait);
        let known = RefCell::new(News { told: format!("waiting for job {job_id}"), runs: false });
        let news = news(client, context, job_id, progress.news(), &known);
        tokio::pin!(news);
        let (mut following, mut stopping, mut is_stopped) = (self.logs.is_some(), Stopping::default(), false);
        let result = loop {
            tokio::select! {
                biased;
                item = next(&mut self.logs), if following => match item {
                    Ok(Followed::Item(item)) => {
                        progress.clear();
                        line(&item)?;
                    }
                    Ok(Followed::Lagged) if self.quiet => {}
                    Ok(Followed::Lagged) => {
                        progress.clear();
                        output::note(Style::stderr().dim("-- lines are missing here --"));
                    }
                    Ok(Followed::Ended) | Err(Error::Rpc(_)) => following = false, // The rest is read at the end.
                    Err(error) => break Err(error),
                },
                result = &mut wait => break result,
                _ = presence.tell() => {}
                _ = signals.interrupts.recv() => {
                    presence.check()?;
                    // A second Ctrl-C ends the command at once.
                    if std::mem::replace(&mut is_stopped, self.interrupt_stops) {
                        return Err(Interrupted(format!("job {job_id} is being stopped")).into());
                    }
                    if !self.interrupt_stops {
                        return Err(Interrupted(format!("job {job_id} goes on")).into());
                    }
                    stopping.ask(async { client.stop_job(context, job_id).await.map(drop) });
                },
                unanswered = stopping.failed() => break Err(unanswered),
                _ = signals.terminations.recv() => return Err(Terminated(format!("job {job_id} goes on")).into()),
                _ = &mut news, if progress.is_on() => {}
                _ = ticks.tick(), if progress.is_on() => {
                    let known = known.borrow();
                    progress.show(&known.told, known.runs);
                }
            }
        };
        drop(progress);
        let over = !matches!(&result, Err(error) if error.rpc().is_none() || error.is_wait_run_out());
        if let Some(logs) = self.logs.as_ref().filter(|_| over) {
            let rest = drain(client, context, job_id, logs.cursor().map(str::to_owned), &mut line);
            let missing = match signals.unless(anyhow!("job {job_id} has ended"), rest).await {
                Ok(Err(error)) if !error.is::<Error>() => return Err(error),
                Ok(rest) => rest,
                ended => ended.map(drop),
            };
            match missing {
                // Who only follows the log has no result beside it.
                Err(error) if !self.interrupt_stops => return Err(error),
                Err(error) if !self.quiet => {
                    output::note(Style::stderr().dim(format!("-- the end of the log is missing: {} --", chain(&error))));
                }
                _ => {}
            }
        }
        Ok(result)
    }
}

/// Keeps `known` up to date with the reason why the job has not ended.
async fn news(client: &Client, context: ContextId, job_id: &JobId, every: Duration, known: &RefCell<News>) -> Infallible {
    sleep(every.min(FIRST_CHECK_AFTER)).await;
    loop {
        match client.explain_job(context, job_id).await {
            Ok(explanation) => {
                let runs = matches!(explanation.reason, Reason::Running | Reason::Ended);
                *known.borrow_mut() = News { told: why(&explanation), runs };
            }
            Err(error) if error.has_code(code::STORE_UNAVAILABLE) => {
                known.borrow_mut().told = "Redis does not answer the server".to_owned()
            }
            Err(_) => {} // Keep the known state; the wait itself reports errors.
        }
        sleep(every).await;
    }
}

/// Describes briefly why a job has not ended.
fn why(explanation: &Explanation) -> String {
    let place = match (explanation.position, explanation.depth) {
        (Some(position), Some(depth)) => format!("place {position} of {depth}, "),
        _ => String::new(),
    };
    // The advice at the end of the message does not fit on a line.
    let message = translated(explanation.message.split(';').next().unwrap_or_default());
    match explanation.reason {
        Reason::Running => match &explanation.progress {
            Some(progress) if progress.text.is_empty() => format!("running: {}", progress.value),
            Some(progress) => format!("running: {}, {}", progress.value, progress.text),
            None => "running".to_owned(),
        },
        Reason::Ended => "ending".to_owned(),
        _ => format!("waiting: {place}{message}"),
    }
}

async fn next(logs: &mut Option<Follow<LogLine>>) -> Result<Followed<LogLine>, Error> {
    match logs {
        Some(logs) => logs.next().await,
        None => Ok(Followed::Ended),
    }
}

/// Reads the log of an ended job from `cursor` to its end.
async fn drain(
    client: &Client,
    context: ContextId,
    job_id: &JobId,
    mut cursor: Option<String>,
    line: &mut impl FnMut(&LogLine) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let deadline = Instant::now() + DRAIN_TIMEOUT;
    loop {
        let page = client.get_logs(context, job_id, cursor.as_deref(), LINES_PER_PAGE).await?;
        for item in &page.lines {
            line(item)?;
        }
        let moved = page.lines.last().map(|item| item.cursor.clone()).or(page.next_cursor);
        // A page can be short if its lines are long.
        if page.ended || page.lines.is_empty() && Instant::now() > deadline {
            return Ok(());
        }
        if page.lines.is_empty() {
            sleep(DRAIN_POLL).await;
        }
        cursor = moved.or(cursor);
    }
}
