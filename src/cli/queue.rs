use clap::{Args, Subcommand};

use super::exit::Exit;
use super::output::{self, Style, Table};
use super::session::Global;
use crate::model::{ContextId, Name, Priority};

/// What to see of queues.
#[derive(Debug, Subcommand)]
pub(super) enum Queue {
    /// List work queues: how many jobs wait, and who takes them
    List(List),
}

/// Which queues.
#[derive(Debug, Args)]
pub(super) struct List {
    /// The context they belong to
    #[arg(long, value_name = "N", default_value_t = 0)]
    context: u32,
}

impl Queue {
    pub(super) async fn main(&self, global: &Global) -> anyhow::Result<Exit> {
        let Self::List(list) = self;
        let queues = global.connect().await?.list_queues(ContextId(list.context)).await?;
        if global.json {
            output::json(&queues)?;
            return Ok(Exit::Ok);
        }
        let style = Style::stdout();
        let mut table = Table::new(style, &["TYPE", "GROUP", "INSTANCE", "PRIORITY", "WAITING", "ACTORS", "QUEUE"]);
        for queue in &queues {
            let actors = if queue.actors == 0 { style.yellow("0") } else { queue.actors.to_string() };
            table.row([
                queue.script_type.to_string(),
                queue.group.as_ref().map_or("-", Name::as_str).to_owned(),
                queue.instance.map_or("-".to_owned(), |instance| instance.to_string()),
                match queue.priority {
                    Priority::Urgent => "urgent",
                    Priority::Normal => "normal",
                    Priority::Low => "low",
                }
                .to_owned(),
                queue.depth.to_string(),
                actors,
                queue.name.clone(),
            ]);
        }
        table.print()?;
        Ok(Exit::Ok)
    }
}
