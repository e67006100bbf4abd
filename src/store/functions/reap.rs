use super::unexpected;
use crate::store::codec::Text;
use crate::store::fcall::Function;
use crate::store::{Error, Store};

const FUNCTION: Function = Function("reap");

impl Store {
    /// Returns jobs whose lease has run out to their queue, and looks after jobs in queues and with foreign actors, at most `limit` of
    /// each. Says how many it looked at; nothing, when the call was on its way for so long that renewals may be, too.
    ///
    /// So a job may run twice: [`Store::turn`] refuses the late result.
    pub async fn reap(&self, limit: usize) -> Result<Option<usize>, Error> {
        let mut call = self.0.call(&FUNCTION);
        call.arg(limit).arg(self.0.periods.lease.as_millis() as u64);
        let answer: Vec<Text> = self.0.commands.function(&call).await?;
        let looked: i64 = answer.first().and_then(Text::parse).ok_or_else(|| unexpected("reap", &answer))?;
        let Ok(looked) = usize::try_from(looked) else { return Ok(None) };
        let taken = answer.get(1).and_then(Text::parse::<u64>).unwrap_or_default();
        if taken > 0 {
            tracing::info!(jobs = taken, context = %self.context(), "jobs were taken from who ran them, because their leases ran out; they run again");
        }
        if looked > 0 {
            self.0.releases.notify_one();
        }
        self.0.wake_ups.wake_all(answer.iter().skip(2).filter_map(|text| text.0.as_ref()));
        Ok(Some(looked))
    }
}
