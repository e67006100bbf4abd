//! `hero schedule …`: jobs that run again and again.

mod create;
mod list;
mod named;

use clap::{Args, Subcommand};
use serde_json::json;

use super::global::Global;
use super::output;
use crate::exit::Exit;
use crate::model::ContextId;

/// What to do with schedules.
#[derive(Debug, Subcommand)]
pub(super) enum Schedule {
    /// Have a job run again and again
    Create(Box<create::Create>),
    /// List schedules: when they run next, and what they did
    List(list::List),
    /// Print everything that is known of a schedule
    Show(Named),
    /// Delete a schedule; jobs that it has made stay
    Delete(Named),
}

/// Which schedule.
#[derive(Debug, Args)]
pub(super) struct Named {
    /// The schedule's id, or its name where only one has it
    #[arg(value_name = "ID|NAME")]
    schedule: String,
    /// The context it belongs to
    #[arg(long, value_name = "N", default_value_t = 0)]
    context: u32,
}

impl Named {
    fn context(&self) -> ContextId {
        ContextId(self.context)
    }
}

impl Schedule {
    pub(super) async fn main(&self, global: &Global) -> anyhow::Result<Exit> {
        match self {
            Self::Create(create) => create.main(global).await?,
            Self::List(list) => list.main(global).await?,
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
