use std::cmp::Reverse;

use clap::{Args, ValueEnum};

use crate::cli::global::Global;
use crate::cli::input::choices::{Types, Wanted, one_of};
use crate::cli::input::paging::{Paging, note_more};
use crate::cli::input::pair::pair;
use crate::cli::input::spec::past;
use crate::cli::output::table::{Fit, Table, ago, cell, cells};
use crate::cli::output::{self, Line, Style};
use crate::dispatch::{JobFilter, JobPage};
use crate::model::{Job, JobId, Name, ScriptType, Status, Timestamp};

/// The jobs to list.
#[derive(Debug, Args)]
pub(in crate::cli) struct List {
    /// Only jobs with this status; failed, stopped and timed-out are parts of error
    #[arg(long, value_parser = one_of(&Wanted::WORDS, Wanted::read))]
    status: Option<Wanted>,
    /// Only jobs of this script type
    #[arg(long = "type", value_name = "TYPE", value_parser = Types, hide_possible_values = true)]
    script_type: Option<ScriptType>,
    /// Only jobs of this caller [default: of all callers, or yours if you may see no others]
    #[arg(long, value_name = "NAME")]
    caller: Option<String>,
    /// Only jobs of this group
    #[arg(long, value_name = "GROUP")]
    group: Option<Name>,
    /// Only jobs with this name
    #[arg(long)]
    name: Option<String>,
    /// Only children of this job
    #[arg(long, value_name = "JOB")]
    parent: Option<JobId>,
    /// Only jobs with this label
    #[arg(long = "label", value_name = "KEY=VALUE", value_parser = pair)]
    labels: Vec<(String, String)>,
    /// Only jobs created after this time (RFC 3339, or such as 1h ago)
    #[arg(long, value_name = "TIME", value_parser = past)]
    since: Option<Timestamp>,
    /// Only jobs created before this time
    #[arg(long, value_name = "TIME", value_parser = past)]
    until: Option<Timestamp>,
    /// Sort the listed jobs by this use of their last attempt, highest first
    #[arg(long, value_name = "WHAT", value_enum)]
    sort: Option<Used>,
    #[command(flatten)]
    paging: Paging,
}

/// The resources that jobs use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Used {
    /// Processor time
    Cpu,
    /// Peak memory
    Memory,
    /// Operations of the script
    Operations,
    /// Running time
    Time,
}

impl Used {
    /// Returns the amount that a job used.
    fn by(self, job: &Job) -> Option<u64> {
        let usage = job.usage.as_ref()?;
        Some(match self {
            Self::Cpu => usage.cpu_us,
            Self::Memory => usage.peak_memory,
            Self::Operations => usage.operations,
            Self::Time => usage.run_ms,
        })
    }

    fn head(self) -> &'static str {
        match self {
            Self::Cpu => "CPU",
            Self::Memory => "MEMORY",
            Self::Operations => "OPERATIONS",
            Self::Time => "RAN",
        }
    }

    fn shown(self, job: &Job) -> String {
        let Some(used) = self.by(job) else { return "-".to_owned() };
        match self {
            Self::Cpu => format!("{}.{} ms", used / 1000, used % 1000 / 100),
            Self::Memory => format!("{} KB", used.div_ceil(1024)),
            Self::Operations => used.to_string(),
            Self::Time => format!("{used} ms"),
        }
    }
}

impl List {
    pub(super) async fn main(&self, global: &Global) -> anyhow::Result<()> {
        let client = global.connect().await?;
        let filter = JobFilter {
            status: self.status.map(Wanted::status),
            script_type: self.script_type.clone(),
            group: self.group.clone(),
            name: self.name.clone(),
            parent_id: self.parent.clone(),
            labels: self.labels.iter().cloned().collect(),
            created_after: self.since,
            created_before: self.until,
            ..JobFilter::default()
        };
        let page = async |context, caller: Option<&str>, cursor: Option<&str>, wanted| {
            let filter = JobFilter { caller_id: caller.map(str::to_owned), ..filter.clone() };
            let page = client.list_jobs(context, &filter, cursor, wanted).await?;
            let jobs = page.jobs.into_iter().filter(|job| self.status.is_none_or(|wanted| wanted.takes(job)));
            Ok((jobs.collect(), page.next_cursor))
        };
        let (mut jobs, next_cursor) = self.paging.collect_of(&client, self.caller.as_deref(), page).await?;
        if let Some(used) = self.sort {
            jobs.sort_by_key(|job| Reverse(used.by(job)));
        }
        let found = JobPage { jobs, next_cursor };
        if global.json { output::json(&found) } else { print(&found, self.sort) }
    }
}

const HEAD: [(&str, Fit); 7] = [
    ("ID", Fit::Keep),
    ("STATUS", Fit::Keep),
    ("TYPE", Fit::Spare(3)),
    ("ATTEMPT", Fit::Spare(4)),
    ("CREATED", Fit::Spare(1)),
    ("TOOK", Fit::Spare(2)),
    ("NAME OR SCRIPT", Fit::Cut),
];

/// Formats the status in a word that fits a column.
fn status(style: Style, job: &Job) -> Line {
    match job.status {
        Status::WaitingForPrerequisites => "waiting".into(),
        status => style.status(status, job.error.as_ref().map(|error| error.kind)),
    }
}

fn print(page: &JobPage, sort: Option<Used>) -> anyhow::Result<()> {
    let style = Style::stdout();
    let mut head = HEAD.to_vec();
    // The sorted value is shown next to the status.
    if let Some(used) = sort {
        head.insert(2, (used.head(), Fit::Keep));
    }
    let mut table = Table::new(style, &head);
    for job in &page.jobs {
        let mut row = Vec::from(cells![
            job.job_id.to_string(),
            status(style, job),
            job.script_type.as_ref().map_or("-", ScriptType::as_str).to_owned(),
            job.attempt.to_string(),
            ago(job.created_at),
            took(job),
            job.name.as_deref().map_or_else(|| style.dim(cell(gist(&job.script))), cell),
        ]);
        if let Some(used) = sort {
            row.insert(2, used.shown(job).into());
        }
        table.row(row);
    }
    table.print()?;
    note_more(page.next_cursor.as_deref());
    Ok(())
}

/// Returns the first line of a script that is not a comment.
pub(in crate::cli) fn gist(script: &str) -> &str {
    script.lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with("//")).unwrap_or("-")
}

/// Formats the running time of the last attempt.
fn took(job: &Job) -> String {
    let Some(started) = job.started_at else { return "-".to_owned() };
    let end = job.finished_at.unwrap_or_else(Timestamp::local);
    match end.since(started).as_millis() {
        millis @ 0..=999 => format!("{millis} ms"),
        millis => format!("{}.{} s", millis / 1000, millis % 1000 / 100),
    }
}
