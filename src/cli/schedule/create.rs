use std::path::PathBuf;

use clap::{ArgGroup, Args};

use crate::cli::exit::Exit;
use crate::cli::output::{self, Style};
use crate::cli::script_error;
use crate::cli::session::Global;
use crate::cli::spec::{SpecArgs, future, read_script, seconds};
use crate::model::{Missed, Overlap, ScheduleId, ScheduleSpec, Seconds, Timestamp};

/// A job, and when to run it.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("when").required(true).args(["cron", "every"]))]
pub(in crate::cli) struct Create {
    /// The script's file, or - for stdin
    #[arg(value_name = "FILE|-", required_unless_present = "script")]
    file: Option<PathBuf>,
    /// The script itself
    #[arg(long, short = 'e', value_name = "TEXT", conflicts_with = "file")]
    script: Option<String>,
    /// When to run it: minute, hour, day of the month, month, weekday, such as "0 9 * * MON-FRI"; seconds before them if there are six
    #[arg(long, value_name = "PATTERN")]
    cron: Option<String>,
    /// How long from one run to the next (90, 30s, 5m)
    #[arg(long, value_name = "TIME", value_parser = seconds)]
    every: Option<Seconds>,
    /// Where the pattern is read, such as Europe/Berlin [default: UTC]
    #[arg(long, value_name = "ZONE")]
    time_zone: Option<String>,
    /// What a run does when the one before has not ended: skip, queue or allow
    #[arg(long, value_name = "POLICY", default_value = "skip")]
    overlap: Overlap,
    /// What becomes of runs that were due while no server ran: skip, once or all
    #[arg(long, value_name = "POLICY", default_value = "once")]
    missed: Missed,
    /// The most runs that `--missed all` makes up for at a time [default: 100]
    #[arg(long, value_name = "N")]
    missed_limit: Option<u16>,
    /// No run before this time (RFC 3339, or such as 30s from now)
    #[arg(long, value_name = "TIME", value_parser = future)]
    start_at: Option<Timestamp>,
    /// No run after this time
    #[arg(long, value_name = "TIME", value_parser = future)]
    end_at: Option<Timestamp>,
    /// The id the schedule shall have
    #[arg(long, value_name = "ID")]
    schedule_id: Option<ScheduleId>,
    #[command(flatten)]
    spec: SpecArgs,
}

impl Create {
    pub(super) async fn main(&self, global: &Global) -> anyhow::Result<()> {
        let script = match (&self.script, &self.file) {
            (Some(script), _) => script.clone(),
            (None, Some(file)) => read_script(file)?,
            (None, None) => anyhow::bail!("there is no script"), // The arguments require one of them.
        };
        let job = self.spec.spec(script)?;
        script_error::check(&job, self.file.as_deref(), Exit::Usage)?;
        let spec = ScheduleSpec {
            cron: self.cron.clone(),
            every: self.every,
            time_zone: self.time_zone.clone(),
            overlap: self.overlap,
            missed: self.missed,
            missed_limit: self.missed_limit,
            start_at: self.start_at,
            end_at: self.end_at,
            // One name does for the schedule and for its jobs.
            name: job.name.clone(),
            schedule_id: self.schedule_id.clone(),
            job,
        };
        let schedule = global.connect().await?.create_schedule(&spec).await?;
        if global.json {
            return output::json(&schedule);
        }
        output::line(schedule.schedule_id.as_str())?;
        let runs: Vec<String> = schedule.next_runs.iter().map(ToString::to_string).collect();
        output::note(Style::stderr().dim(format!("next runs: {}", runs.join(", "))));
        Ok(())
    }
}
