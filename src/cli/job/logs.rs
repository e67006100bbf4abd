use clap::Args;

use super::JobArgs;
use crate::cli::global::{Global, RECONNECT_TIME};
use crate::cli::output::{self, Style};
use crate::cli::watch::{LINES_PER_PAGE, Watch};
use crate::client::Client;
use crate::model::LogLine;

/// The job whose log to print.
#[derive(Debug, Args)]
pub(in crate::cli) struct Logs {
    #[command(flatten)]
    named: JobArgs,
    /// Keep printing new lines until the job ends
    #[arg(long, short)]
    follow: bool,
}

impl Logs {
    pub(super) async fn main(&self, global: &Global) -> anyhow::Result<()> {
        let client = global.connect().await?;
        if self.follow { self.follow(client, global).await } else { self.print(&client, global.json).await }
    }

    async fn print(&self, client: &Client, json: bool) -> anyhow::Result<()> {
        let (mut cursor, mut is_empty) = (None, true);
        loop {
            let page = client.get_logs(self.named.context(), &self.named.job_id, cursor.as_deref(), LINES_PER_PAGE).await?;
            for line in &page.lines {
                show(json, line)?;
            }
            is_empty &= page.lines.is_empty();
            // A page can be short if its lines are long.
            if page.ended || page.lines.is_empty() {
                if is_empty && !json {
                    output::aside("no log");
                }
                return Ok(());
            }
            cursor = page.lines.last().map(|line| line.cursor.clone());
        }
    }

    async fn follow(&self, client: Client, global: &Global) -> anyhow::Result<()> {
        let (context, job_id, json) = (self.named.context(), &self.named.job_id, global.json);
        let logs = Some(client.follow_logs(context, job_id, None).await?);
        let quiet = json || !output::is_watched();
        let watch = Watch { client, context, job_id, logs, limit: None, reconnect: RECONNECT_TIME, interrupt_stops: false, quiet };
        match watch.finish(|line| show(json, line)).await? {
            Err(error) if error.rpc().is_none_or(|rpc| rpc.job_failure().is_none()) => Err(error.into()),
            _ => Ok(()), // The user did not ask how the job ended.
        }
    }
}

fn show(json: bool, line: &LogLine) -> anyhow::Result<()> {
    if json {
        return output::line(output::json_text(line)?);
    }
    let style = Style::stdout();
    let time = line.time.map(|time| style.dim(format!("{time} "))).unwrap_or_default();
    output::line(time + style.level(line.level) + &line.text)
}
