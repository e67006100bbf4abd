//! `hero flow …`: jobs that belong together.

mod check;
mod file;
mod heard;
mod inputs;
mod list;
mod logs;
mod reading;
mod run;
mod show;
mod spec;
mod tree;

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};
use serde_json::json;

use super::arguments::ArgumentArgs;
use super::environment::EnvironmentArgs;
use super::global::Global;
use super::output;
use crate::exit::Exit;
use crate::model::{ContextId, FlowId, FlowStatus};

/// What to do with flows.
#[derive(Debug, Subcommand)]
pub(super) enum FlowCommand {
    /// Run the flow of a file, and show its jobs while they run
    Run(run::Run),
    /// Say what is wrong with the flow of a file, and where
    Check(check::Check),
    /// Print the JSON Schema of such a file, for editors
    Schema,
    /// Make a flow without starting it, and print its number
    Create(Create),
    /// Start a flow that was made
    Start(Named),
    /// List flows, the newest first
    List(list::List),
    /// Show a flow and its jobs
    Show(Named),
    /// Print what the jobs of a flow logged
    Logs(logs::Logs),
    /// Print the graph of a flow in the language of Mermaid
    Graph(Named),
    /// Stop all jobs of a flow that have not ended
    Stop(Named),
    /// Run those jobs of a flow again that failed, and those that never ran because of them
    Retry(Named),
    /// Delete a flow that does not run, with its jobs
    Delete(Named),
}

/// Which flow.
#[derive(Debug, Args)]
pub(super) struct Named {
    /// The flow's number
    #[arg(value_name = "N")]
    flow: u32,
    /// The context it belongs to
    #[arg(long, value_name = "N", default_value_t = 0)]
    context: u32,
}

impl Named {
    fn of(&self) -> (ContextId, FlowId) {
        (ContextId(self.context), FlowId(self.flow))
    }
}

/// A flow to be made.
#[derive(Debug, Args)]
pub(super) struct Create {
    #[command(flatten)]
    source: Source,
}

/// The file of a flow, and what its jobs are given besides. All of them get that, and it counts before what the file says.
#[derive(Debug, Args)]
pub(super) struct Source {
    /// The file of the flow, YAML or JSON, or - for stdin
    #[arg(value_name = "FILE|-", value_hint = ValueHint::FilePath)]
    file: PathBuf,
    /// The context it belongs to [default: what the file says, or 0]
    #[arg(long, value_name = "N")]
    context: Option<u32>,
    /// The same key with the same flow gives the flow that was made with it, for 24 hours
    #[arg(long, short = 'k', value_name = "KEY")]
    idempotency_key: Option<String>,
    #[command(flatten)]
    arguments: ArgumentArgs,
    #[command(flatten)]
    environment: EnvironmentArgs,
}

impl FlowCommand {
    pub(super) async fn main(&self, global: &Global) -> anyhow::Result<Exit> {
        match self {
            Self::Run(run) => return run.main(global).await,
            Self::Check(check) => return check.main(global.json),
            Self::Schema => output::document(&file::schema())?,
            Self::Create(create) => {
                create.source.arguments.warn_of_json(global.json);
                let spec = create.source.spec()?;
                let flow = global.connect().await?.create_flow(&spec).await?;
                if global.json {
                    output::json(&json!({ "flow_id": flow }))?;
                } else {
                    output::line(flow.to_string())?;
                }
            }
            Self::List(list) => list.main(global).await?,
            Self::Show(named) => show::main(global, named).await?,
            Self::Logs(logs) => logs.main(global).await?,
            Self::Graph(named) => {
                let (context, flow) = named.of();
                let graph = global.connect().await?.get_flow(context, flow).await?.graph;
                if global.json { output::json(&json!({ "flow_id": flow, "graph": graph }))? } else { output::document(&graph)? }
            }
            Self::Start(named) => told(global, "start", named).await?,
            Self::Stop(named) => told(global, "stop", named).await?,
            Self::Retry(named) => told(global, "retry", named).await?,
            Self::Delete(named) => {
                let (context, flow) = named.of();
                global.connect().await?.delete_flow(context, flow).await?;
                if global.json {
                    output::json(&json!({ "deleted": flow }))?;
                } else {
                    output::line("deleted")?;
                }
            }
        }
        Ok(Exit::Ok)
    }
}

/// Has something done with a flow, and prints its status.
async fn told(global: &Global, what: &str, named: &Named) -> anyhow::Result<()> {
    let ((context, flow), client) = (named.of(), global.connect().await?);
    let status = match what {
        "start" => client.start_flow(context, flow).await?,
        "stop" => client.stop_flow(context, flow).await?,
        _ => client.retry_flow(context, flow).await?,
    };
    if global.json {
        return output::json(&json!({ "flow_id": flow, "status": status }));
    }
    output::line(if what == "stop" && status == FlowStatus::Error { "stopped" } else { status.as_str() })
}
