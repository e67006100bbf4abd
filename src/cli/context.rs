//! `hero context …`: tenants, each with its own jobs, objects and files.

use std::time::Duration;

use clap::{Args, Subcommand};
use serde_json::json;

use super::global::Global;
use super::output::{self, Style};
use crate::cli::input::paging::note_more;
use crate::cli::output::local_time::local_time;
use crate::cli::output::table::{Fit, Table, cell, cells};
use crate::exit::Exit;
use crate::model::{Context, ContextId, ContextLimits, ContextStatus, IdentityId, Role, Seconds, parse_size, parse_time, size_text};

/// Commands of contexts.
#[derive(Debug, Subcommand)]
pub(super) enum ContextCommand {
    /// Create a context and print its number
    Create {
        /// A name that says what the context is for
        #[arg(long)]
        name: Option<String>,
        /// An identity that becomes admin of the context, by its number; may be repeated
        #[arg(long, value_name = "IDENTITY")]
        admin: Vec<IdentityId>,
        #[command(flatten)]
        limits: LimitFlags,
    },
    /// Change a context. Only the given options change
    Update {
        /// The number of the context
        id: u32,
        /// A name that says what the context is for
        #[arg(long)]
        name: Option<String>,
        #[command(flatten)]
        limits: LimitFlags,
    },
    /// Show the roles and limits of a context
    Show {
        /// The number of the context
        id: u32,
    },
    /// List contexts by number
    List {
        /// Maximum number of contexts to list
        #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u16).range(1..=1000))]
        limit: u16,
        /// Continue at this cursor, printed at the end of the previous list
        #[arg(long, value_name = "CURSOR")]
        cursor: Option<String>,
    },
    /// Delete a context with everything in it, permanently
    Delete {
        /// The number of the context
        id: u32,
        /// Stop its unfinished jobs and flows, and give up messages that are not yet sent or wait for their result.
        /// Without this option, a context that has any of these is not deleted
        #[arg(long)]
        stop_jobs: bool,
    },
}

/// Limits of a context; 0 removes a limit.
#[derive(Debug, Args)]
pub(super) struct LimitFlags {
    /// Maximum number of jobs created per second; 0 removes this or any other limit
    #[arg(long, value_name = "N")]
    jobs_per_second: Option<u32>,
    /// Maximum number of jobs in a queue
    #[arg(long, value_name = "N")]
    queue_length: Option<u32>,
    /// Maximum number of running jobs, on all servers together
    #[arg(long, value_name = "N")]
    max_running: Option<u32>,
    /// Maximum number of operations of a script
    #[arg(long, value_name = "N")]
    script_operations: Option<u32>,
    /// Maximum processor time of a job, such as 30s
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    cpu_time: Option<Duration>,
    /// Maximum size of all objects together, such as 100MB
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    objects_quota: Option<u64>,
    /// Maximum size of the files that scripts write, such as 1GB
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    files_quota: Option<u64>,
}

impl LimitFlags {
    fn limits(&self) -> ContextLimits {
        ContextLimits {
            jobs_per_second: self.jobs_per_second,
            queue_length: self.queue_length,
            max_running: self.max_running,
            script_operations: self.script_operations,
            cpu_time: self.cpu_time.map(Seconds::from),
            objects_quota: self.objects_quota,
            files_quota: self.files_quota,
        }
    }
}

impl ContextCommand {
    pub(super) async fn main(&self, global: &Global) -> anyhow::Result<Exit> {
        let client = global.connect_as_operator().await?;
        match self {
            Self::Create { name, admin, limits } => {
                let made = client.create_context(name.as_deref(), admin, limits.limits()).await?;
                if global.json { output::json(&made)? } else { output::line(made.context_id.to_string())? }
            }
            Self::Update { id, name, limits } => {
                show(global, &client.update_context(ContextId(*id), name.as_deref(), limits.limits()).await?)?;
            }
            Self::Show { id } => show(global, &client.get_context(ContextId(*id)).await?)?,
            Self::List { limit, cursor } => {
                let page = client.list_contexts(cursor.as_deref(), usize::from(*limit)).await?;
                if global.json {
                    output::json(&page)?;
                } else {
                    list(&page.contexts)?;
                    note_more(page.next_cursor.as_deref());
                }
            }
            Self::Delete { id, stop_jobs } => {
                client.delete_context(ContextId(*id), *stop_jobs).await?;
                if global.json { output::json(&json!({ "deleted": id }))? } else { output::line("deleted")? }
            }
        }
        Ok(Exit::Ok)
    }
}

fn show(global: &Global, context: &Context) -> anyhow::Result<()> {
    if global.json {
        return output::json(context);
    }
    let line = |name: &str, value: String| output::line(format!("{name:<17}  {value}"));
    line("context", context.context_id.to_string())?;
    line("name", context.name.clone().unwrap_or_else(|| "-".to_owned()))?;
    line("status", status(context).to_owned())?;
    for role in Role::ALL {
        let numbers: Vec<String> = context.of(role).iter().map(ToString::to_string).collect();
        line(role.list(), if numbers.is_empty() { "-".to_owned() } else { numbers.join(" ") })?;
    }
    for (name, limit) in limits(&context.limits) {
        line(name, limit)?;
    }
    for (name, time) in [("created", context.created_at), ("updated", context.updated_at)] {
        line(name, time.map_or_else(|| "-".to_owned(), |time| local_time(time, "UTC")))?;
    }
    Ok(())
}

/// Returns the limits that are set, by name.
fn limits(limits: &ContextLimits) -> Vec<(&'static str, String)> {
    let count = |limit: Option<u32>| limit.map(|limit| limit.to_string());
    let all = [
        ("jobs_per_second", count(limits.jobs_per_second)),
        ("queue_length", count(limits.queue_length)),
        ("max_running", count(limits.max_running)),
        ("script_operations", count(limits.script_operations)),
        ("cpu_time", limits.cpu_time.map(|limit| format!("{:?}", limit.duration()))),
        ("objects_quota", limits.objects_quota.map(size_text)),
        ("files_quota", limits.files_quota.map(size_text)),
    ];
    all.into_iter().filter_map(|(name, limit)| Some((name, limit?))).collect()
}

const fn status(context: &Context) -> &'static str {
    match context.status {
        ContextStatus::Active => "active",
        ContextStatus::Deleting => "deleting",
    }
}

const HEAD: [(&str, Fit); 4] = [("CONTEXT", Fit::Keep), ("STATUS", Fit::Keep), ("NAME", Fit::Cut), ("LIMITS", Fit::Cut)];

fn list(contexts: &[Context]) -> anyhow::Result<()> {
    let mut table = Table::new(Style::stdout(), &HEAD);
    for context in contexts {
        let limits: Vec<String> = limits(&context.limits).into_iter().map(|(name, limit)| format!("{name}={limit}")).collect();
        table.row(cells![
            context.context_id.to_string(),
            status(context).to_owned(),
            cell(context.name.as_deref().unwrap_or("-")),
            if limits.is_empty() { "-".to_owned() } else { limits.join(" ") },
        ]);
    }
    table.print()
}
