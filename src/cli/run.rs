use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use clap::Args;
use tokio::time::sleep;

use super::exit::{self, Exit, Usage};
use super::output::{self, Style};
use super::script_error;
use super::session::Global;
use super::settings::parse_time;
use super::spec::{SpecArgs, read_script};
use super::watch::Watch;
use crate::client::{Client, Error, JobFailure};
use crate::model::{JobId, JobResult, LogLine};

/// How often `--watch` looks at the file.
const LOOK: Duration = Duration::from_millis(200);

/// Runs a script: log to stderr, result to stdout, the exit code says how it ended.
#[derive(Debug, Args)]
pub(super) struct Run {
    /// The script's file, or - for stdin
    #[arg(value_name = "FILE|-")]
    file: PathBuf,
    #[command(flatten)]
    spec: SpecArgs,
    /// The longest wait for the result; then the job goes on without us (exit code 6) [default: to the end]
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    wait: Option<Duration>,
    /// Run it again each time the file changes
    #[arg(long)]
    watch: bool,
}

impl Run {
    pub(super) async fn main(&self, global: &Global) -> anyhow::Result<Exit> {
        if !self.watch {
            return self.once(&global.connect().await?, global.json).await;
        }
        if self.file == Path::new("-") {
            return Err(Usage("--watch needs a file, stdin does not change".to_owned()).into());
        }
        let client = global.connect().await?;
        loop {
            let seen = modified(&self.file);
            match self.once(&client, global.json).await {
                Ok(Exit::JobStopped) => return Ok(Exit::JobStopped),
                Ok(_) => {}
                Err(error) if error.downcast_ref::<Error>().is_some_and(|error| error.rpc().is_none()) => return Err(error),
                Err(error) => drop(exit::report(&error, global.json)),
            }
            output::note(Style::stderr().dim(format!("-- waiting for {} to change, Ctrl-C ends --", self.file.display())));
            while modified(&self.file) == seen || modified(&self.file).is_none() {
                tokio::select! {
                    _ = sleep(LOOK) => {}
                    _ = tokio::signal::ctrl_c() => return Ok(Exit::Ok),
                }
            }
        }
    }

    async fn once(&self, client: &Client, json: bool) -> anyhow::Result<Exit> {
        let spec = self.spec.spec(read_script(&self.file)?)?;
        script_error::check(&spec, Some(&self.file), Exit::JobFailed)?;
        let context = spec.context_id;
        let job_id = client.create_job(&spec).await?;
        let logs = client.follow_logs(context, &job_id, None).await?; // Before the start, so that no line is missed.
        client.start_job(context, &job_id).await?;
        let watch = Watch { client, context, job_id: &job_id, logs: Some(logs), limit: self.wait, interrupt_stops: true, quiet: json };
        let style = Style::stderr();
        let result = watch.finish(|line| log_line(style, json, line)).await?;
        match result {
            Ok(result) if json => output::json(&result)?,
            Ok(result) => print_value(&result)?,
            Err(error) => return self.failed(&job_id, &spec.script, error, json),
        }
        Ok(Exit::Ok)
    }

    /// Shows how the script went wrong, if that is what happened.
    fn failed(&self, job_id: &JobId, script: &str, error: Error, json: bool) -> anyhow::Result<Exit> {
        let exit = Exit::of_client(&error);
        let failure = error.rpc().and_then(|rpc| rpc.job_failure());
        let (false, Some(JobFailure { error: cause, .. })) = (json, failure) else {
            let named = error.rpc().is_some(); // The server names the job.
            let error = anyhow::Error::from(error);
            return Err(if named { error } else { error.context(format!("job {job_id} was not seen to its end")) });
        };
        script_error::render(Style::stderr(), &script_error::name(&self.file), script, &cause).into_iter().for_each(output::note);
        Ok(exit)
    }
}

fn modified(path: &Path) -> Option<SystemTime> {
    std::fs::metadata(path).and_then(|metadata| metadata.modified()).ok()
}

fn log_line(style: Style, json: bool, line: &LogLine) -> anyhow::Result<()> {
    if json {
        output::note_json(line)
    } else {
        output::note(style.level(line.level) + &line.text)
    }
    Ok(())
}

/// Prints what the script returned: texts as they are, nothing for nothing, the rest as JSON.
pub(super) fn print_value(result: &JobResult) -> anyhow::Result<()> {
    match &result.value {
        Some(value) if value.as_str() == "null" => Ok(()),
        Some(value) if value.as_str().starts_with('"') => output::text(&serde_json::from_str::<String>(value.as_str())?),
        Some(value) => output::text(&output::json_text(value)?),
        None if result.output.is_empty() => Ok(()),
        None => output::text(&result.output),
    }
}
