//! `hero schedule …`: jobs that run again and again.

mod create;
mod list;

use clap::{Args, Subcommand};
use serde_json::json;

use super::exit::Exit;
use super::output;
use super::session::Global;
use crate::model::{ContextId, ScheduleId};

/// What to do with schedules.
#[derive(Debug, Subcommand)]
pub(super) enum Schedule {
    /// Have a job run again and again
    Create(Box<create::Create>),
    /// List schedules: when they run next, and what they did
    List(list::List),
    /// Delete a schedule; jobs that it has made stay
    Delete(Delete),
}

/// Which schedule.
#[derive(Debug, Args)]
pub(super) struct Delete {
    /// The schedule's id
    schedule_id: ScheduleId,
    /// The context it belongs to
    #[arg(long, value_name = "N", default_value_t = 0)]
    context: u32,
}

impl Schedule {
    pub(super) async fn main(&self, global: &Global) -> anyhow::Result<Exit> {
        match self {
            Self::Create(create) => create.main(global).await?,
            Self::List(list) => list.main(global).await?,
            Self::Delete(delete) => {
                global.connect().await?.delete_schedule(ContextId(delete.context), &delete.schedule_id).await?;
                if global.json {
                    output::json(&json!({ "deleted": delete.schedule_id }))?;
                } else {
                    output::line("deleted")?;
                }
            }
        }
        Ok(Exit::Ok)
    }
}
