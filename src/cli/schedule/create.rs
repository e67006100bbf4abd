use clap::{ArgGroup, Args};

use crate::cli::global::Global;
use crate::cli::input::choices::one_of;
use crate::cli::input::compiled::compiled;
use crate::cli::input::script::Source;
use crate::cli::input::spec::{SpecArgs, future, seconds};
use crate::cli::output::local_time::local_time;
use crate::cli::output::{self, Style};
use crate::exit::{Exit, Usage};
use crate::model::{Missed, Overlap, ScheduleId, ScheduleSpec, Seconds, Timestamp};

/// The combined meaning of `--missed` and `--overlap`.
const TOGETHER: &str = "\
--missed is about runs that were due while no server ran: skip leaves them out, even after an outage of seconds; once creates one job for all of \
them, as soon as a server is back; all creates one job for each, for the newest --missed-limit. With once and all, a run that is less than 30 s \
late counts as late, not as missed.

--overlap is about a run, late or not, when the job of the previous run has not ended: skip leaves the run out, queue makes its job wait, allow \
runs both jobs at once.

Together: runs that --missed makes up for go through --overlap like all others. So `--missed all --overlap skip` makes up for one run, because the \
others find its job running; `--missed all --overlap queue` runs them one after another, and `--missed all --overlap allow` all at once.

`hero schedule list` counts the runs left out: as SKIPPED by --overlap, as MISSED by --missed.";

/// A job, and its times.
#[derive(Debug, Args)]
#[command(after_help = TOGETHER, group = ArgGroup::new("when").required(true).args(["cron", "every"]))]
pub(in crate::cli) struct Create {
    #[command(flatten)]
    source: Source,
    /// The pattern of times: minute, hour, day of the month, month, weekday, such as "0 9 * * MON-FRI". With six
    /// fields, the first is seconds
    #[arg(long, value_name = "PATTERN")]
    cron: Option<String>,
    /// Time between runs (90, 30s, 5m)
    #[arg(long, value_name = "TIME", value_parser = seconds)]
    every: Option<Seconds>,
    /// The time zone of the pattern and of shown times, such as Europe/Berlin [default: UTC]
    #[arg(long, value_name = "ZONE")]
    time_zone: Option<String>,
    /// What to do when the job of the previous run has not ended
    #[arg(long, value_name = "POLICY", default_value = "skip", value_parser = one_of(&["skip", "queue", "allow"], str::parse::<Overlap>))]
    overlap: Overlap,
    /// What to do about runs that were due while no server ran
    #[arg(long, value_name = "POLICY", default_value = "once", value_parser = one_of(&["skip", "once", "all"], str::parse::<Missed>))]
    missed: Missed,
    /// Maximum number of runs that `--missed all` makes up for at a time [default: 100]
    #[arg(long, value_name = "N")]
    missed_limit: Option<u16>,
    /// Time of the earliest run (RFC 3339, or such as 30s from now)
    #[arg(long, value_name = "TIME", value_parser = future)]
    start_at: Option<Timestamp>,
    /// Time of the latest run
    #[arg(long, value_name = "TIME", value_parser = future)]
    end_at: Option<Timestamp>,
    /// The id for the new schedule
    #[arg(long, value_name = "ID")]
    schedule_id: Option<ScheduleId>,
    #[command(flatten)]
    spec: SpecArgs,
}

impl Create {
    pub(super) async fn main(&self, global: &Global) -> anyhow::Result<()> {
        if self.missed_limit.is_some() && self.missed != Missed::All {
            return Err(Usage("--missed-limit is for --missed all; give both, or leave it out".to_owned()).into());
        }
        let mut job = compiled(&self.source, &self.spec, Exit::Usage)?;
        let spec = ScheduleSpec {
            cron: self.cron.clone(),
            every: self.every,
            time_zone: self.time_zone.clone(),
            overlap: self.overlap,
            missed: self.missed,
            missed_limit: self.missed_limit,
            start_at: self.start_at,
            end_at: self.end_at,
            // The schedule and its jobs have the same name.
            name: job.name.clone(),
            // The idempotency key is for the creation of the schedule.
            idempotency_key: job.idempotency_key.take(),
            schedule_id: self.schedule_id.clone(),
            job,
        };
        let schedule = global.connect().await?.create_schedule(&spec).await?;
        if global.json {
            return output::json(&schedule);
        }
        output::line(schedule.schedule_id.as_str())?;
        let runs: Vec<String> = schedule.next_runs.iter().map(|time| local_time(*time, &schedule.time_zone)).collect();
        output::tell(Style::stderr().dim(format!("next runs: {}", runs.join(", "))), 2);
        Ok(())
    }
}
