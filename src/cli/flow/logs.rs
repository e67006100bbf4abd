use clap::Args;
use serde_json::json;

use super::FlowArgs;
use crate::cli::global::Global;
use crate::cli::output::{self, Line, Style, json_text};
use crate::cli::watch::LINES_PER_PAGE;
use crate::exit::Usage;
use crate::model::{FlowJob, LogLine};

/// The flow, and optionally one of its jobs.
#[derive(Debug, Args)]
pub(in crate::cli) struct Logs {
    #[command(flatten)]
    named: FlowArgs,
    /// Only the log of the job with this name
    #[arg(value_name = "NAME")]
    job: Option<String>,
}

impl Logs {
    /// Prints the logs of a flow's jobs, one job after another, in the order of their dependencies.
    pub(super) async fn main(&self, global: &Global) -> anyhow::Result<()> {
        let ((context, flow), client) = (self.named.of(), global.connect().await?);
        let jobs = client.get_flow(context, flow).await?.jobs;
        let wanted: Vec<&FlowJob> = jobs.iter().filter(|job| self.job.as_ref().is_none_or(|name| *name == job.name)).collect();
        if let Some(name) = self.job.as_ref().filter(|_| wanted.is_empty()) {
            let names = jobs.iter().map(|job| job.name.as_str()).collect::<Vec<_>>().join(", ");
            return Err(Usage(format!("flow {flow} has no job {name}; its jobs: {names}")).into());
        }
        for job in wanted.into_iter().filter(|job| job.status.is_some()) {
            let mut cursor = None;
            loop {
                let page = client.get_logs(context, &job.job_id, cursor.as_deref(), LINES_PER_PAGE).await?;
                page.lines.iter().try_for_each(|line| self.show(global.json, &job.name, line))?;
                // A page can be short if its lines are long.
                if page.ended || page.lines.is_empty() {
                    break;
                }
                cursor = page.lines.last().map(|line| line.cursor.clone());
            }
        }
        Ok(())
    }

    fn show(&self, as_json: bool, name: &str, line: &LogLine) -> anyhow::Result<()> {
        if as_json {
            return output::line(json_text(&json!({ "job": name, "line": line }))?);
        }
        let style = Style::stdout();
        let whose = if self.job.is_some() { Line::default() } else { style.bold(name) + " " };
        let time = line.time.map(|time| style.dim(format!("{time} "))).unwrap_or_default();
        output::line(whose + time + style.level(line.level) + &line.text)
    }
}
