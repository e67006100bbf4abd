use super::unexpected;
use crate::Error;
use crate::library::fcall::Function;
use crate::value::Text;
use crate::views::Jobs;
use hero_model::Timestamp;

const FUNCTION: Function = Function("promote");

/// The result of a round of promotion.
#[derive(Debug, Clone, PartialEq)]
pub struct Promoted {
    /// The number of entries that were handled.
    pub handled: usize,
    /// The time when the next one is due, if there is one.
    pub next_due: Option<Timestamp>,
}

impl Jobs<'_> {
    /// Queues jobs whose time has come, at most `limit`.
    ///
    /// An id whose hash does not arrive within five seconds is dropped.
    pub async fn promote(self, limit: usize) -> Result<Promoted, Error> {
        self.promote_after(limit, false).await
    }

    /// Like [`Self::promote`], but after a while without any server, for example because the whole machine was suspended, ids that were to
    /// be dropped get another five seconds.
    pub async fn promote_after(self, limit: usize, a_while: bool) -> Result<Promoted, Error> {
        let mut call = self.0.call(&FUNCTION);
        call.arg(limit).arg(if a_while { "1" } else { "" });
        let answer: Vec<Text> = self.0.commands.function(&call).await?;
        let handled: usize = answer.first().and_then(Text::parse).ok_or_else(|| unexpected("promote", &answer))?;
        if handled > 0 {
            self.0.releases.notify_one();
        }
        self.0.wake_ups.wake_all(answer.iter().skip(2).filter_map(|text| text.0.as_ref()));
        Ok(Promoted { handled, next_due: answer.get(1).and_then(Text::parse).map(Timestamp::from_millis) })
    }
}
