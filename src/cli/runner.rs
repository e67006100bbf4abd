//! `hero runner …`: the runners of groups of jobs, here or on other nodes.

use clap::{Args, Subcommand};
use serde_json::json;

use super::global::Global;
use super::object::InContext;
use super::output::{self, Style};
use crate::cli::input::paging::{Paging, note_more};
use crate::cli::output::local_time::local_time;
use crate::cli::output::table::{Fit, Table, cell, cells};
use crate::exit::Exit;
use crate::model::{Address, ContextId, Name, Runner, RunnerChange, RunnerId, RunnerPage, ScriptType, SignerKey};

/// Commands of runners.
#[derive(Debug, Subcommand)]
pub(super) enum RunnerCommand {
    /// Create a runner and print its number. With an address it is on another node, without one it is a pool here
    Create {
        /// The script type of its jobs
        script_type: ScriptType,
        #[command(flatten)]
        about: About,
        #[command(flatten)]
        context: InContext,
    },
    /// Change a runner. Only the given options change
    Update {
        /// The number of the runner
        id: RunnerId,
        /// The script type of its jobs
        #[arg(long = "type", value_name = "TYPE")]
        script_type: Option<ScriptType>,
        /// Whether the runner is a pool here
        #[arg(long, value_name = "YES")]
        local: Option<bool>,
        #[command(flatten)]
        about: About,
        #[command(flatten)]
        context: InContext,
    },
    /// Show a runner
    Show(OneRunner),
    /// List runners by number
    List(Paging),
    /// Delete a runner; its jobs stay in their queue
    Delete(OneRunner),
}

/// A runner.
#[derive(Debug, Args)]
pub(super) struct OneRunner {
    /// The number of the runner
    id: RunnerId,
    #[command(flatten)]
    context: InContext,
}

/// The fields of a runner.
#[derive(Debug, Args)]
pub(super) struct About {
    /// The address of the runner: here (another context of the server), node:NAME (from the settings), redis://…, or a
    /// Mycelium node
    #[arg(long, value_name = "ADDRESS")]
    address: Option<Address>,
    /// The key that signs the results of its jobs: that of the node that runs them
    #[arg(long, value_name = "KEY")]
    pubkey: Option<SignerKey>,
    /// The topic of the runner [default: runnerN]
    #[arg(long, value_name = "TOPIC")]
    topic: Option<Name>,
    /// The context on the other side in which its jobs run [default: 0]
    #[arg(long, value_name = "N")]
    target_context: Option<u32>,
    /// A name that says what the runner is for
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
}

impl About {
    fn change(&self) -> RunnerChange {
        RunnerChange {
            script_type: None,
            local: None,
            topic: self.topic.clone(),
            address: self.address.clone(),
            pubkey: self.pubkey.clone(),
            target_context: self.target_context.map(ContextId),
            name: self.name.clone(),
        }
    }
}

impl RunnerCommand {
    pub(super) async fn main(&self, global: &Global) -> anyhow::Result<Exit> {
        let client = global.connect_as_operator().await?;
        match self {
            Self::Create { script_type, about, context } => {
                let local = Some(about.address.is_none());
                let change = RunnerChange { script_type: Some(script_type.clone()), local, ..about.change() };
                let made = client.create_runner(context.id(), &change).await?;
                if global.json { output::json(&made)? } else { output::line(made.runner_id.to_string())? }
            }
            Self::Update { id, script_type, local, about, context } => {
                let change = RunnerChange { script_type: script_type.clone(), local: *local, ..about.change() };
                show(global, &client.update_runner(context.id(), *id, &change).await?)?;
            }
            Self::Show(OneRunner { id, context }) => show(global, &client.get_runner(context.id(), *id).await?)?,
            Self::List(paging) => {
                let page = async |context, cursor: Option<&str>, wanted| {
                    let page = client.list_runners(context, cursor, wanted).await?;
                    Ok((page.runners, page.next_cursor))
                };
                let (runners, next_cursor) = paging.collect(page).await?;
                let found = RunnerPage { runners, next_cursor };
                if global.json { output::json(&found)? } else { list(&found)? }
            }
            Self::Delete(OneRunner { id, context }) => {
                client.delete_runner(context.id(), *id).await?;
                if global.json { output::json(&json!({ "deleted": id }))? } else { output::line("deleted")? }
            }
        }
        Ok(Exit::Ok)
    }
}

fn or_dash<T: ToString>(value: Option<&T>) -> String {
    value.map_or_else(|| "-".to_owned(), ToString::to_string)
}

fn show(global: &Global, runner: &Runner) -> anyhow::Result<()> {
    if global.json {
        return output::json(runner);
    }
    output::line(format!("runner   {}", runner.runner_id))?;
    output::line(format!("name     {}", or_dash(runner.name.as_ref())))?;
    output::line(format!("type     {}", runner.script_type))?;
    output::line(format!("local    {}", if runner.local { "yes" } else { "no" }))?;
    output::line(format!("topic    {}", runner.topic))?;
    output::line(format!("address  {}", or_dash(runner.address.as_ref())))?;
    output::line(format!("context  {} there", runner.target_context))?;
    output::line(format!("pubkey   {}", or_dash(runner.pubkey.as_ref())))?;
    output::line(format!("created  {}", local_time(runner.created_at, "UTC")))?;
    output::line(format!("updated  {}", local_time(runner.updated_at, "UTC")))
}

const HEAD: [(&str, Fit); 6] =
    [("RUNNER", Fit::Keep), ("TYPE", Fit::Keep), ("LOCAL", Fit::Keep), ("TOPIC", Fit::Cut), ("ADDRESS", Fit::Cut), ("NAME", Fit::Cut)];

fn list(page: &RunnerPage) -> anyhow::Result<()> {
    let mut table = Table::new(Style::stdout(), &HEAD);
    for runner in &page.runners {
        table.row(cells![
            runner.runner_id.to_string(),
            runner.script_type.to_string(),
            if runner.local { "yes" } else { "no" }.to_owned(),
            runner.topic.to_string(),
            or_dash(runner.address.as_ref()),
            runner.name.as_deref().map_or("-".into(), cell),
        ]);
    }
    table.print()?;
    note_more(page.next_cursor.as_deref());
    Ok(())
}
