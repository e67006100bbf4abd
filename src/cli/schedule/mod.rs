//! `hero schedule …`: jobs that run repeatedly.

mod create;
mod find;
mod list;

use clap::{Args, Subcommand};
use serde_json::json;

use super::global::Global;
use super::output;
use crate::cli::input::paging::OfCaller;
use crate::exit::Exit;
use crate::model::ContextId;

/// Commands of schedules.
#[derive(Debug, Subcommand)]
pub(super) enum Schedule {
    /// Create a schedule that runs a job repeatedly
    Create(Box<create::Create>),
    /// List schedules with their next runs and counts
    List(OfCaller),
    /// Show all details of a schedule
    Show(ScheduleArgs),
    /// Delete a schedule; its jobs stay
    Delete(ScheduleArgs),
}

/// A schedule.
#[derive(Debug, Args)]
pub(super) struct ScheduleArgs {
    /// The id of the schedule, or its name if unique
    #[arg(value_name = "ID|NAME")]
    schedule: String,
    /// The context of the schedule
    #[arg(long, value_name = "N", default_value_t = 0)]
    context: u32,
}

impl ScheduleArgs {
    fn context(&self) -> ContextId {
        ContextId(self.context)
    }
}

impl Schedule {
    pub(super) async fn main(&self, global: &Global) -> anyhow::Result<Exit> {
        match self {
            Self::Create(create) => create.main(global).await?,
            Self::List(of) => list::main(global, of).await?,
            Self::Show(named) => named.show(global).await?,
            Self::Delete(named) => {
                let client = global.connect().await?;
                let id = named.id(&client).await?;
                client.delete_schedule(named.context(), &id).await?;
                if global.json {
                    output::json(&json!({ "deleted": id }))?;
                } else {
                    output::line("deleted")?;
                }
            }
        }
        Ok(Exit::Ok)
    }
}
