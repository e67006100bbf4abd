use clap::{Args, Subcommand};
use serde_json::json;

use super::global::Global;
use super::output::{self, Style};
use crate::cli::input::choices::Types;
use crate::cli::input::spec::priority_word;
use crate::cli::output::table::{Fit, Table, cells};
use crate::exit::Exit;
use crate::model::{ContextId, Name, Priority, Queue as WorkQueue, QueueInfo, ScriptType, Target};

/// Commands of queues.
#[derive(Debug, Subcommand)]
pub(super) enum Queue {
    /// List work queues with their waiting jobs and their actors
    List(List),
    /// Pause a queue: running jobs continue, and new ones wait
    Pause(QueueArgs),
    /// Resume a paused queue
    Resume(QueueArgs),
}

/// The queues to list.
#[derive(Debug, Args)]
pub(super) struct List {
    /// The context of the queues
    #[arg(long, value_name = "N", default_value_t = 0)]
    context: u32,
}

/// A queue, with all its priorities.
#[derive(Debug, Args)]
pub(super) struct QueueArgs {
    /// The script type of its jobs
    #[arg(value_name = "TYPE", value_parser = Types, hide_possible_values = true)]
    script_type: ScriptType,
    /// The queue of this group
    #[arg(long, value_name = "GROUP")]
    group: Option<Name>,
    /// The queue of this actor of the group
    #[arg(long, value_name = "N")]
    instance: Option<u32>,
    /// The context of the queue
    #[arg(long, value_name = "N", default_value_t = 0)]
    context: u32,
}

impl QueueArgs {
    /// Whether a queue is this one, in any priority.
    fn means(&self, queue: &QueueInfo) -> bool {
        let target = self.queue().target;
        queue.script_type == self.script_type && queue.group.as_ref() == target.group() && queue.instance == target.instance()
    }

    fn queue(&self) -> WorkQueue {
        let target = Target::of(self.group.clone(), self.instance);
        WorkQueue { script_type: self.script_type.clone(), target, priority: Priority::Normal }
    }
}

impl Queue {
    pub(super) async fn main(&self, global: &Global) -> anyhow::Result<Exit> {
        match self {
            Self::List(queues) => list(global, queues).await?,
            Self::Pause(named) => {
                let (client, context) = (global.connect().await?, ContextId(named.context));
                client.pause_queue(context, &named.queue()).await?;
                done(global, "paused", true)?;
                // If the list cannot be read, skip the warning.
                if let Ok(queues) = client.list_queues(context).await
                    && !queues.iter().any(|queue| named.means(queue) && (queue.actors > 0 || queue.depth > 0))
                {
                    output::note("no actor takes from this queue and nothing waits in it: `hero queue list` shows those that are used");
                }
            }
            Self::Resume(named) => {
                global.connect().await?.resume_queue(ContextId(named.context), &named.queue()).await?;
                done(global, "resumed", false)?;
            }
        }
        Ok(Exit::Ok)
    }
}

fn done(global: &Global, word: &str, paused: bool) -> anyhow::Result<()> {
    if global.json { output::json(&json!({ "paused": paused })) } else { output::line(word) }
}

const HEAD: [(&str, Fit); 8] = [
    ("TYPE", Fit::Cut),
    ("GROUP", Fit::Cut),
    ("INSTANCE", Fit::Keep),
    ("PRIORITY", Fit::Keep),
    ("WAITING", Fit::Keep),
    ("ACTORS", Fit::Keep),
    ("PAUSED", Fit::Keep),
    ("QUEUE", Fit::Spare(1)),
];

async fn list(global: &Global, list: &List) -> anyhow::Result<()> {
    let queues = global.connect().await?.list_queues(ContextId(list.context)).await?;
    if global.json {
        return output::json(&queues);
    }
    let style = Style::stdout();
    let mut table = Table::new(style, &HEAD);
    for queue in &queues {
        let actors = if queue.actors == 0 { style.yellow("0") } else { queue.actors.to_string().into() };
        table.row(cells![
            queue.script_type.to_string(),
            queue.group.as_ref().map_or("-", Name::as_str).to_owned(),
            queue.instance.map_or("-".to_owned(), |instance| instance.to_string()),
            priority_word(queue.priority).to_owned(),
            queue.depth.to_string(),
            actors,
            if queue.paused { style.yellow("yes") } else { "-".into() },
            &queue.name,
        ]);
    }
    table.print()
}
