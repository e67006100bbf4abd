//! `hero job …`: commands of single jobs.

mod attempts;
mod create;
mod create_many;
mod list;
mod logs;
mod show;

pub(super) use list::gist;

use std::time::Duration;

use clap::{Args, Subcommand};
use serde_json::json;

use super::global::{Global, RECONNECT_TIME};
use super::output::{self, Line, Style};
use super::run::print_value;
use super::watch::Watch;
use crate::cli::error::translate::translated;
use crate::client::Client;
use crate::exit::Exit;
use crate::model::{ContextId, ErrorKind, JobId, Reason, Status, parse_time};

/// Commands of jobs.
#[derive(Debug, Subcommand)]
pub(super) enum Job {
    /// Create a job without starting it, and print its id
    Create(Box<create::Create>),
    /// Create all jobs of a JSON or JSON Lines file, or none, and print their ids
    CreateMany(create_many::CreateMany),
    /// Put a created job into its queue
    Start(JobArgs),
    /// Wait for a job to end and print its result
    Wait(Wait),
    /// Stop a job
    Stop(JobArgs),
    /// Rerun a job that has ended
    Retry(JobArgs),
    /// Print the status of a job
    Status(JobArgs),
    /// Show all details of a job
    Show(JobArgs),
    /// Explain why a job runs, waits or failed
    Explain(JobArgs),
    /// Print the log of a job
    Logs(logs::Logs),
    /// List jobs
    List(list::List),
    /// Delete a job that is not running
    Delete(JobArgs),
}

/// A job.
#[derive(Debug, Args)]
pub(super) struct JobArgs {
    /// The id of the job
    pub(super) job_id: JobId,
    /// The context of the job
    #[arg(long, value_name = "N", default_value_t = 0)]
    context: u32,
}

impl JobArgs {
    fn context(&self) -> ContextId {
        ContextId(self.context)
    }
}

/// A job, and the time to wait for it.
#[derive(Debug, Args)]
pub(super) struct Wait {
    #[command(flatten)]
    named: JobArgs,
    /// Maximum time to wait. Then exits with code 6 [default: to the end]
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    wait: Option<Duration>,
    /// Time to try to reconnect when the server goes away, as in a restart. The job continues [default: 30s]
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    reconnect: Option<Duration>,
}

impl Job {
    pub(super) async fn main(&self, global: &Global) -> anyhow::Result<Exit> {
        match self {
            Self::Create(create) => create.main(global).await?,
            Self::CreateMany(create) => create.main(global).await?,
            Self::Start(named) => {
                let client = global.connect().await?;
                let status = client.start_job(named.context(), &named.job_id).await?;
                tell(global, &client, named, status).await?
            }
            Self::Wait(wait) => return wait.main(global).await,
            Self::Stop(named) => {
                let client = global.connect().await?;
                let status = client.stop_job(named.context(), &named.job_id).await?;
                tell(global, &client, named, status).await?
            }
            Self::Retry(named) => {
                let client = global.connect().await?;
                let status = client.retry_job(named.context(), &named.job_id).await?;
                tell(global, &client, named, status).await?
            }
            Self::Status(named) => {
                let client = global.connect().await?;
                let status = client.get_status(named.context(), &named.job_id).await?;
                tell(global, &client, named, status).await?
            }
            Self::Show(named) => show::main(global, named).await?,
            Self::Explain(named) => explain(global, named).await?,
            Self::Logs(logs) => logs.main(global).await?,
            Self::List(list) => list.main(global).await?,
            Self::Delete(named) => {
                global.connect().await?.delete_job(named.context(), &named.job_id).await?;
                if global.json {
                    output::json(&json!({ "deleted": named.job_id }))?;
                } else {
                    output::line("deleted")?;
                }
            }
        }
        Ok(Exit::Ok)
    }
}

impl Wait {
    async fn main(&self, global: &Global) -> anyhow::Result<Exit> {
        let reconnect = self.reconnect.unwrap_or(RECONNECT_TIME);
        let client = global.connect_to_wait(reconnect, self.wait).await?;
        let (context, job_id) = (self.named.context(), &self.named.job_id);
        let watch = Watch { client, context, job_id, logs: None, limit: self.wait, reconnect, interrupt_stops: false, quiet: global.json };
        let result = watch.finish(|_| Ok(())).await??;
        if global.json {
            output::json(&result)?
        } else {
            print_value(&result)?
        }
        Ok(Exit::Ok)
    }
}

async fn explain(global: &Global, named: &JobArgs) -> anyhow::Result<()> {
    let client = global.connect().await?;
    let explanation = client.explain_job(named.context(), &named.job_id).await?;
    if global.json {
        return output::json(&explanation);
    }
    let ended = ["failed", "stopped", "timed out"].iter().find_map(|word| explanation.message.strip_prefix(word));
    let why = match ended.filter(|_| explanation.status == Status::Error) {
        // What a script says is not translated, and the word for its end stands before it.
        Some(rest) => rest.strip_suffix("(timeout)").map_or_else(|| rest.to_owned(), |rest| format!("{rest}(--timeout)")),
        None => format!(": {}", translated(&explanation.message)),
    };
    let style = Style::stdout();
    let status = match (explanation.status, explanation.reason) {
        (Status::WaitingForPrerequisites, _) => "waiting".into(),
        (Status::Dispatched, Reason::Paused) => Line::from("paused"),
        (status, _) => style.status(status, kind(&client, named, status).await),
    };
    output::paragraph(status + why, 2)?;
    attempts::lines(&explanation.attempts).into_iter().try_for_each(|line| output::paragraph(Line::from("attempt ") + line, 8))?;
    explanation.position.map_or(Ok(()), |position| {
        output::line(format!("place {position} of {} in {}", explanation.depth.unwrap_or(position), explanation.queue.unwrap_or_default()))
    })
}

/// Prints the status of a job.
async fn tell(global: &Global, client: &Client, named: &JobArgs, status: Status) -> anyhow::Result<()> {
    if global.json {
        return output::json(&json!({ "status": status }));
    }
    output::line(Style::stdout().status(status, kind(client, named, status).await))
}

/// Returns the reason why a job ended in error, if it is still known.
async fn kind(client: &Client, named: &JobArgs, status: Status) -> Option<ErrorKind> {
    if status != Status::Error {
        return None;
    }
    let error = client.get_result(named.context(), &named.job_id).await.err()?;
    Some(error.rpc()?.job_failure()?.error.kind)
}
