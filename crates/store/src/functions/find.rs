use super::unexpected;
use crate::Error;
use crate::jobs::filter::Condition;
use crate::library::fcall::Function;
use crate::value::Text;
use crate::views::Jobs;
use hero_model::JobId;

const FIND: Function = Function("find");
const POSITION: Function = Function("find_position");

/// The result of a search in a part of the index of an hour.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Found {
    /// The position of the last entry that was checked.
    pub(crate) position: usize,
    /// The number of entries checked.
    pub(crate) looked_at: usize,
    /// The time since when that entry is in the index, in milliseconds, if one of the jobs there still exists.
    pub(crate) time: Option<i64>,
    /// Jobs that may pass, each with its position, the newest first.
    pub(crate) jobs: Vec<(usize, JobId)>,
}

impl Jobs<'_> {
    /// Searches for jobs that may pass a filter among the given number of entries before a position in the index of an hour, until enough
    /// are found.
    pub(crate) async fn find(
        self,
        hour: &str,
        end: usize,
        look_at: usize,
        wanted: usize,
        conditions: &[Condition],
    ) -> Result<Found, Error> {
        let mut call = self.0.call(&FIND);
        // No list is longer, and Lua would lose digits of a larger number.
        call.arg(self.0.keys.index_of_hour(hour)).arg(end.min(1 << 52)).arg(look_at).arg(wanted);
        Condition::add(conditions, &mut call);
        let answer: Vec<Text> = self.0.commands.function(&call).await?;
        let [position, looked_at, time, jobs @ ..] = &answer[..] else { return Err(unexpected("find", &answer.len())) };
        let number = |text: &Text| text.parse().ok_or_else(|| unexpected("find", &answer.len()));
        let (position, looked_at) = (number(position)?, number(looked_at)?);
        let jobs = jobs.chunks_exact(2).filter_map(|job| Some((job[0].parse()?, job[1].parse()?))).collect();
        Ok(Found { position, looked_at, time: time.parse(), jobs })
    }

    /// Returns the position in the index of an hour from which on all jobs entered at a time or later, in milliseconds.
    pub(crate) async fn position_of(self, hour: &str, time: i64) -> Result<usize, Error> {
        let mut call = self.0.call(&POSITION);
        call.arg(self.0.keys.index_of_hour(hour)).arg(time);
        self.0.commands.function(&call).await
    }
}
