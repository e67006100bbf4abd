use super::ScheduleArgs;
use crate::cli::global::Global;
use crate::cli::input::paging::{ENTRIES_PER_CALL, own_caller};
use crate::cli::input::spec::field_text;
use crate::cli::output::local_time::local_time;
use crate::cli::output::{self, Line, Style};
use crate::client::{Client, code};
use crate::exit::Usage;
use crate::model::{Schedule, ScheduleId, tree};

impl ScheduleArgs {
    /// Returns the id of the named schedule.
    pub(super) async fn id(&self, client: &Client) -> anyhow::Result<ScheduleId> {
        match self.schedule.parse() {
            Ok(id) => Ok(id),
            Err(_) => self.find(client, |schedule| schedule.name.as_ref() == Some(&self.schedule)).await.map(|found| found.schedule_id),
        }
    }

    /// Returns the only schedule that matches.
    async fn find(&self, client: &Client, is_meant: impl Fn(&Schedule) -> bool) -> anyhow::Result<Schedule> {
        let (mut found, mut cursor, mut caller) = (Vec::new(), None, None);
        loop {
            let page = match client.list_schedules(self.context(), caller.as_deref(), cursor.as_deref(), ENTRIES_PER_CALL).await {
                Err(error) if caller.is_none() && error.has_code(code::DENIED) => {
                    caller = Some(own_caller(client, error).await?);
                    continue;
                }
                page => page?,
            };
            found.extend(page.schedules.into_iter().filter(&is_meant));
            cursor = page.next_cursor;
            if cursor.is_none() {
                break;
            }
        }
        // A schedule that runs in the meantime may be on two pages.
        found.sort_by(|one, other| one.schedule_id.cmp(&other.schedule_id));
        found.dedup_by(|one, other| one.schedule_id == other.schedule_id);
        match found.len() {
            0 => anyhow::bail!("there is no schedule {:?}; `hero schedule list` shows those that exist", self.schedule),
            1 => Ok(found.remove(0)),
            several => {
                let ids: Vec<&str> = found.iter().map(|schedule| schedule.schedule_id.as_str()).collect();
                Err(Usage(format!("{several} schedules are called {:?}; name one by its id: {}", self.schedule, ids.join(", "))).into())
            }
        }
    }

    /// Prints all details of a schedule: one line per field with times in its zone, then the script.
    pub(super) async fn show(&self, global: &Global) -> anyhow::Result<()> {
        let client = global.connect().await?;
        let id = self.schedule.parse().ok().map(ScheduleId::spelled);
        let is_meant = |schedule: &Schedule| match &id {
            Some(id) => schedule.schedule_id == *id,
            None => schedule.name.as_ref() == Some(&self.schedule),
        };
        let schedule = self.find(&client, is_meant).await?;
        if global.json {
            return output::json(&schedule);
        }
        let zoned = |time| local_time(time, &schedule.time_zone);
        let fields = tree(&serde_json::to_string(&schedule)?)?;
        for (name, value) in fields.as_object().into_iter().flatten().filter(|(name, _)| name.as_str() != "job") {
            let text = match (name.as_str(), value.as_str()) {
                ("next_runs", _) => schedule.next_runs.iter().map(|time| zoned(*time)).collect::<Vec<_>>().join(", "),
                ("created_at" | "last_run" | "start_at" | "end_at", Some(text)) => text.parse().map_or_else(|_| text.to_owned(), zoned),
                (_, Some(text)) => text.to_owned(),
                (_, None) => output::json_text(value)?,
            };
            output::paragraph(format!("{name:<18} {text}"), 19)?;
        }
        output::line(Style::stdout().bold("job"))?;
        let job = tree(&serde_json::to_string(&schedule.job)?)?;
        for (name, value) in job.as_object().into_iter().flatten().filter(|(name, _)| name.as_str() != "script") {
            output::line(format!("  {name:<16} {}", field_text(name, value, schedule.job.priority)?))?;
        }
        output::line(Style::stdout().bold("script"))?;
        schedule.job.script.lines().try_for_each(|line| output::line(Line::from("  ") + line))
    }
}
