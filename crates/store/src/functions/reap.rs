use super::unexpected;
use crate::Error;
use crate::library::fcall::Function;
use crate::value::Text;
use crate::views::Queues;

const FUNCTION: Function = Function("reap");

/// A job that was taken from its actor, because its lease had ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lost {
    /// Its id.
    pub job: String,
    /// The number of the attempt that ended this way.
    pub attempt: u32,
    /// The actor that ran it, if it is known.
    pub actor: String,
    /// The caller that created it, if there is one.
    pub caller: Option<String>,
}

/// The number of texts before those of the jobs.
const HEAD_TEXTS: usize = 3;
/// The number of texts for each job.
const TEXTS_PER_JOB: usize = 4;

impl Queues<'_> {
    /// Returns jobs whose lease has ended to their queue, and checks jobs in queues and with foreign actors, at most `limit` of each.
    /// Returns the number of checked jobs; nothing if the call was under way for so long that renewals may be delayed, too.
    ///
    /// So a job may run twice: [`Queues::fetch`] refuses the late result.
    pub async fn reap(self, limit: usize) -> Result<Option<usize>, Error> {
        Ok(self.reap_lost(limit).await?.map(|(looked, _)| looked))
    }

    /// Like [`Self::reap`], but also returns the jobs that it took from their actors.
    pub async fn reap_lost(self, limit: usize) -> Result<Option<(usize, Vec<Lost>)>, Error> {
        let mut call = self.0.call(&FUNCTION);
        call.arg(limit).arg(self.0.periods.lease.as_millis() as u64);
        let answer: Vec<Text> = self.0.commands.function(&call).await?;
        let looked: i64 = answer.first().and_then(Text::parse).ok_or_else(|| unexpected("reap", &answer))?;
        let Ok(looked) = usize::try_from(looked) else { return Ok(None) };
        let taken = answer.get(1).and_then(Text::parse::<usize>).unwrap_or_default();
        let gone = answer.get(2).and_then(|keys| keys.0.as_deref()).unwrap_or_default();
        for key in gone.split_whitespace() {
            self.0.tell_deleted(key);
        }
        if taken > 0 {
            let whose = if taken == 1 { "1 job whose lease".to_owned() } else { format!("{taken} jobs whose leases") };
            tracing::info!(context = %self.0.keys.context(), "requeued {whose} expired: their actors are dead or were held up");
        }
        if looked > 0 {
            self.0.releases.notify_one();
        }
        self.0.wake_ups.wake_all(answer.iter().skip(HEAD_TEXTS + taken * TEXTS_PER_JOB).filter_map(|text| text.0.as_ref()));
        let text = |text: &Text| text.0.as_deref().unwrap_or_default().to_owned();
        let lost = answer.get(HEAD_TEXTS..).unwrap_or_default().chunks_exact(TEXTS_PER_JOB).take(taken).map(|one| Lost {
            job: text(&one[0]),
            attempt: one[1].parse().unwrap_or_default(),
            actor: text(&one[2]),
            caller: Some(text(&one[3])).filter(|caller| !caller.is_empty()),
        });
        Ok(Some((looked, lost.collect())))
    }
}
