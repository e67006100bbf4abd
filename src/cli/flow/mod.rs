//! `hero flow …`: jobs that belong together.

mod check;
mod ending;
mod file;
mod inputs;
mod job_outputs;
mod list;
mod logs;
mod numbers;
mod reading;
mod run;
mod show;
mod spec;
mod tree;
mod wait;
mod watch;

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};
use serde_json::json;

pub(super) use file::known_keys;
pub(super) use reading::unknown_field;

use super::global::Global;
use super::output;
use crate::cli::input::arguments::ArgumentArgs;
use crate::cli::input::environment::EnvironmentArgs;
use crate::cli::input::paging::OfCaller;
use crate::exit::Exit;
use crate::model::{ContextId, FlowId, FlowStatus};

/// Commands of flows.
#[derive(Debug, Subcommand)]
pub(super) enum FlowCommand {
    /// Run the flow in a file, and show its jobs while they run
    Run(run::Run),
    /// Check the flow in a file, and show where it is wrong
    Check(check::Check),
    /// Print the JSON Schema of flow files, for editors
    Schema,
    /// Create a flow without starting it, and print its number
    Create(Create),
    /// Start a created flow
    Start(FlowArgs),
    /// Wait for a flow to end, show its jobs meanwhile, and print the output of the last ones
    Wait(wait::Wait),
    /// List flows, newest first
    List(OfCaller),
    /// Show a flow and its jobs
    Show(FlowArgs),
    /// Print the logs of a flow's jobs
    Logs(logs::Logs),
    /// Print the graph of a flow in Mermaid format
    Graph(FlowArgs),
    /// Stop all unfinished jobs of a flow
    Stop(FlowArgs),
    /// Rerun the failed jobs of a flow, and those that never ran because of them
    Retry(FlowArgs),
    /// Delete a flow that is not running, with its jobs
    Delete(FlowArgs),
}

/// A flow.
#[derive(Debug, Args)]
pub(super) struct FlowArgs {
    /// The number of the flow
    #[arg(value_name = "N", value_parser = number)]
    flow: u32,
    /// The context of the flow
    #[arg(long, value_name = "N", default_value_t = 0)]
    context: u32,
}

fn number(text: &str) -> Result<u32, String> {
    text.parse().map_err(|_| format!("{text:?} is not the number of a flow, such as 3; `hero flow list` shows those that there are"))
}

impl FlowArgs {
    fn of(&self) -> (ContextId, FlowId) {
        (ContextId(self.context), FlowId(self.flow))
    }
}

/// A flow to create.
#[derive(Debug, Args)]
pub(super) struct Create {
    #[command(flatten)]
    source: Source,
}

/// The file of a flow, with values for all of its jobs. They take precedence over the file.
#[derive(Debug, Args)]
pub(super) struct Source {
    /// The flow file, YAML or JSON, or - for stdin
    #[arg(value_name = "FILE|-", value_hint = ValueHint::FilePath)]
    file: PathBuf,
    /// The context of the flow [default: from the file, else 0]
    #[arg(long, value_name = "N")]
    context: Option<u32>,
    /// For 24 hours, the same key with the same flow returns the flow created with it
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
                let spec = create.source.spec()?;
                let flow = global.connect().await?.create_flow(&spec).await?;
                if global.json {
                    output::json(&json!({ "flow_id": flow }))?;
                } else {
                    output::line(flow.to_string())?;
                }
            }
            Self::Wait(wait) => return wait.main(global).await,
            Self::List(of) => list::main(global, of).await?,
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

/// Does something with a flow, and prints its status.
async fn told(global: &Global, what: &str, named: &FlowArgs) -> anyhow::Result<()> {
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
