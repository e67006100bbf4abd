use crate::cli::global::Global;
use crate::cli::input::paging::{OfCaller, note_more};
use crate::cli::output::local_time::local_time;
use crate::cli::output::table::{Fit, Table, ago, cell, cells};
use crate::cli::output::{self, Line, Style};
use crate::dispatch::SchedulePage;
use crate::model::{JobId, Schedule, Seconds};

/// Lists schedules.
pub(super) async fn main(global: &Global, of: &OfCaller) -> anyhow::Result<()> {
    let client = global.connect().await?;
    let page = async |context, caller: Option<&str>, cursor: Option<&str>, wanted| {
        let page = client.list_schedules(context, caller, cursor, wanted).await?;
        Ok((page.schedules, page.next_cursor))
    };
    let (schedules, next_cursor) = of.collect(&client, page).await?;
    let found = SchedulePage { schedules, next_cursor };
    if global.json { output::json(&found) } else { print(&found) }
}

const HEAD: [(&str, Fit); 9] = [
    ("ID", Fit::Keep),
    ("WHEN", Fit::Cut),
    ("NEXT RUN", Fit::Keep),
    ("LAST RUN", Fit::Keep),
    ("LAST JOB", Fit::Spare(9)),
    ("RUNS", Fit::Keep),
    ("SKIPPED", Fit::Keep),
    ("MISSED", Fit::Keep),
    ("NAME", Fit::Cut),
];

fn print(page: &SchedulePage) -> anyhow::Result<()> {
    let style = Style::stdout();
    let mut table = Table::new(style, &HEAD);
    for schedule in &page.schedules {
        table.row(cells![
            schedule.schedule_id.to_string(),
            cell(&when(schedule)),
            match schedule.next_runs.first() {
                Some(_) if schedule.suspended.is_some() => style.yellow("suspended"),
                Some(run) => Line::from(local_time(*run, &schedule.time_zone)),
                None => style.dim("ended"),
            },
            ago(schedule.last_run),
            schedule.last_job.as_ref().map_or("-", JobId::as_str).to_owned(),
            schedule.runs.to_string(),
            schedule.skipped_runs.to_string(),
            schedule.missed_runs.to_string(),
            schedule.name.as_deref().map_or_else(|| style.dim("-"), cell),
        ]);
    }
    table.print()?;
    for (schedule, why) in page.schedules.iter().filter_map(|schedule| Some((schedule, schedule.suspended.as_ref()?))) {
        output::note(Style::stderr().dim(format!("{} is suspended: {why}", schedule.schedule_id)));
    }
    note_more(page.next_cursor.as_deref());
    Ok(())
}

/// Returns the pattern or interval as it was given.
fn when(schedule: &Schedule) -> String {
    match (&schedule.cron, schedule.every) {
        (Some(cron), _) => format!("{cron} {}", schedule.time_zone),
        (None, Some(every)) => format!("every {}", length(every)),
        (None, None) => "-".to_owned(),
    }
}

/// Formats a duration as for `--every`.
fn length(time: Seconds) -> String {
    let seconds = time.duration().as_secs();
    let units = [(86_400, "d"), (3600, "h"), (60, "m"), (1, "s")];
    match units.into_iter().find(|(unit, _)| seconds >= *unit && seconds.is_multiple_of(*unit)) {
        Some((unit, name)) if time.duration().subsec_nanos() == 0 => format!("{}{name}", seconds / unit),
        _ => format!("{time}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_length_is_said_in_its_largest_unit() {
        let said = |seconds| length(Seconds::new(seconds).unwrap());
        assert_eq!([1.0, 90.0, 300.0, 7200.0, 172_800.0, 2.5].map(said), ["1s", "90s", "5m", "2h", "2d", "2.5s"]);
    }
}
