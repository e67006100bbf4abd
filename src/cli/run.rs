use std::path::Path;
use std::time::{Duration, SystemTime};

use anyhow::anyhow;
use clap::Args;
use tokio::time::sleep;

use super::global::{Global, RECONNECT_TIME};
use super::output::{self, Style};
use super::watch::{Signals, Terminated, Watch};
use crate::cli::error::advice::{Lost, Unstarted, not_started};
use crate::cli::error::report::report;
use crate::cli::error::script_error;
use crate::cli::input::compiled::compiled;
use crate::cli::input::script::Source;
use crate::cli::input::spec::{SingleArgs, SpecArgs};
use crate::client::{Client, Error, Follow, JobFailure};
use crate::exit::{Exit, Interrupted, Usage};
use crate::model::{ErrorKind, JobId, JobResult, JobSpec, LogLine, parse_time};

/// Interval at which `--watch` checks the file.
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// Timeout for the end of a job that `--watch` has stopped.
const STOP_TIMEOUT: Duration = Duration::from_secs(10);

/// Runs a script: log to stderr, result to stdout, the exit code tells how it ended.
#[derive(Debug, Args)]
pub(super) struct Run {
    #[command(flatten)]
    source: Source,
    #[command(flatten)]
    spec: SpecArgs,
    #[command(flatten)]
    single: SingleArgs,
    /// Maximum time to wait for the result. Then exits with code 6 and the job continues [default: to the end]
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    wait: Option<Duration>,
    /// Time to try to reconnect when the server goes away, as in a restart. The job continues [default: 30s]
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    reconnect: Option<Duration>,
    /// Rerun the script each time the file changes; a job that still runs is stopped
    #[arg(long, conflicts_with_all = ["script", "idempotency_key", "id"])]
    watch: bool,
}

/// A started job.
struct Begun {
    spec: JobSpec,
    job_id: JobId,
    logs: Follow<LogLine>,
}

impl Run {
    pub(super) async fn main(&self, global: &Global) -> anyhow::Result<Exit> {
        let reconnect = self.reconnect.unwrap_or(RECONNECT_TIME);
        if !self.watch {
            // A file that is missing or wrong is told before a server is asked.
            let spec = self.spec()?;
            let client = global.connect_to_wait(reconnect, self.wait).await?;
            let begun = self.begin(&client, spec).await?;
            return self.finish(global, &client, begun).await;
        }
        let Some(file) = self.source.file() else {
            return Err(Usage("--watch needs a file, stdin does not change".to_owned()).into());
        };
        if look(file).is_none() {
            // The file must exist now: later it may be missing for a while, but a wrong name would be waited for
            // forever.
            self.source.read()?;
        }
        let client = global.connect_to_wait(reconnect, self.wait).await?;
        loop {
            let seen = look(file);
            let Some(ended) = self.until_changed(global, &client, file, seen).await? else { continue };
            match ended {
                Ok(Exit::JobStopped) => return Ok(Exit::JobStopped),
                Ok(_) => {}
                Err(error) if ends(&error) => return Err(error),
                Err(error) => drop(report(&error, global.json)),
            }
            output::note(Style::stderr().dim(format!("-- waiting for {} to change, Ctrl-C ends --", file.display())));
            let mut signals = Signals::new()?;
            tokio::select! {
                () = changed(file, seen) => {}
                _ = signals.interrupts.recv() => return Ok(Exit::Ok),
                _ = signals.terminations.recv() => return Err(Terminated("nothing runs".to_owned()).into()),
            }
        }
    }

    /// Runs the script to its end. If the file changes first, stops the job and returns `None`.
    async fn until_changed(
        &self,
        global: &Global,
        client: &Client,
        file: &Path,
        seen: Option<Seen>,
    ) -> anyhow::Result<Option<anyhow::Result<Exit>>> {
        let spec = match self.spec() {
            Ok(spec) => spec,
            Err(error) => return Ok(Some(Err(error))),
        };
        let begun = match self.begin(client, spec).await {
            Ok(begun) => begun,
            Err(error) => return Ok(Some(Err(error))),
        };
        let (context, job_id) = (begun.spec.context_id, begun.job_id.clone());
        tokio::select! {
            biased;
            ended = self.finish(global, client, begun) => return Ok(Some(ended)),
            () = changed(file, seen) => {}
        }
        output::note(Style::stderr().dim(format!("-- {} has changed: stopping job {job_id} to run it again --", file.display())));
        let stopped = async {
            match client.stop_job(context, &job_id).await {
                Err(error) if error.rpc().is_none() => return Err(error),
                _ => {} // The job may have just ended by itself.
            }
            let _ = client.wait_to_the_end(context, &job_id, Some(STOP_TIMEOUT)).await;
            Ok(None)
        };
        Ok(Signals::new()?.unless(anyhow!("job {job_id} is being stopped"), stopped).await??)
    }

    fn spec(&self) -> anyhow::Result<JobSpec> {
        Ok(self.single.on(compiled(&self.source, &self.spec, Exit::Usage)?))
    }

    async fn begin(&self, client: &Client, spec: JobSpec) -> anyhow::Result<Begun> {
        let mut signals = Signals::new()?;
        let job_id = signals.unless(anyhow!("whether the job is stored is not known"), client.create_job(&spec)).await??;
        let started = async {
            let logs = client.follow_logs(spec.context_id, &job_id, None).await?; // Before the start, so that no line is missed.
            client.begin_job(&spec, &job_id).await?;
            Ok(logs)
        };
        let left = || Unstarted::job(&job_id);
        match signals.unless(left(), started).await? {
            Ok(logs) => Ok(Begun { spec, job_id, logs }),
            Err(error) => Err(not_started(error, left())),
        }
    }

    async fn finish(&self, global: &Global, client: &Client, begun: Begun) -> anyhow::Result<Exit> {
        let (Begun { spec, job_id, logs }, json) = (begun, global.json);
        let context = spec.context_id;
        let watch = Watch {
            client: client.clone(),
            context,
            job_id: &job_id,
            logs: Some(logs),
            limit: self.wait,
            reconnect: self.reconnect.unwrap_or(RECONNECT_TIME),
            interrupt_stops: true,
            quiet: json,
        };
        let style = Style::stderr();
        let result = watch.finish(|line| log_line(style, json, line)).await?;
        match result {
            Ok(result) if json => output::json(&result)?,
            Ok(result) => print_value(&result)?,
            Err(error) => return self.failed(&job_id, &spec, error, json),
        }
        Ok(Exit::Ok)
    }

    /// Shows the error of a failed script.
    fn failed(&self, job_id: &JobId, spec: &JobSpec, error: Error, json: bool) -> anyhow::Result<Exit> {
        let exit = Exit::of_client(&error);
        let failure = error.rpc().and_then(|rpc| rpc.job_failure());
        if failure.as_ref().is_some_and(|failure| failure.error.kind == ErrorKind::Script) {
            self.spec.warn_of_json(json);
        }
        let (false, Some(JobFailure { error: cause, .. })) = (json, failure) else {
            return Err(named(error, job_id, "was not seen to its end"));
        };
        let timeout = spec.timeout.unwrap_or(JobSpec::DEFAULT_TIMEOUT.into());
        let lines = script_error::render(Style::stderr(), &self.source.name(), &spec.script, Some(timeout), &cause);
        lines.into_iter().for_each(|line| output::tell(line, 2));
        Ok(exit)
    }
}

/// Whether an error also ends `--watch`: a signal, or a server that is gone.
fn ends(error: &anyhow::Error) -> bool {
    let is_gone = error.downcast_ref::<Error>().is_some_and(|error| error.rpc().is_none());
    is_gone || error.is::<Interrupted>() || error.is::<Terminated>()
}

/// Adds the job's name to an error.
fn named(error: Error, job_id: &JobId, what: &'static str) -> anyhow::Error {
    let says = error.to_string().contains(job_id.as_str());
    let error = anyhow::Error::from(error);
    if says { error } else { error.context(Lost { job_id: job_id.clone(), what }) }
}

/// The modification time and size of a file, which reveal a change.
type Seen = (SystemTime, u64);

fn look(file: &Path) -> Option<Seen> {
    let metadata = std::fs::metadata(file).ok()?;
    // An empty file is ignored, because editors often empty a file before they write it.
    (metadata.len() > 0).then_some((metadata.modified().ok()?, metadata.len()))
}

/// Waits until a file exists and has changed, and then until it stays unchanged for a moment, because it may be half
/// written.
async fn changed(file: &Path, seen: Option<Seen>) {
    let mut last = seen;
    loop {
        sleep(POLL_INTERVAL).await;
        let now = look(file);
        if now.is_some() && now != seen && now == last {
            return;
        }
        last = now;
    }
}

fn log_line(style: Style, json: bool, line: &LogLine) -> anyhow::Result<()> {
    if json {
        output::note_json(line)
    } else {
        output::note(style.level(line.level) + &line.text)
    }
    Ok(())
}

/// Prints the `output` of a script: text as it is, nothing for no value, else JSON as written by the script or its
/// command.
pub(super) fn print_value(result: &JobResult) -> anyhow::Result<()> {
    match &result.value {
        Some(value) if value.as_str() == "null" => Ok(()),
        // JSON as received, with control characters escaped so that it cannot control the terminal. Other servers may
        // send anything else.
        Some(value) if !value.as_str().starts_with('"') => match serde_json::from_str::<serde::de::IgnoredAny>(&result.output) {
            Ok(_) => output::text(&output::escaped(result.output.clone())),
            Err(_) => output::text(&output::json_text(value)?),
        },
        _ if result.output.is_empty() && result.value.is_none() => Ok(()),
        _ => output::text(&result.output),
    }
}
