use super::unexpected;
use crate::Error;
use crate::library::fcall::Function;
use crate::value::Text;
use crate::views::Jobs;

const FUNCTION: Function = Function("release_relatives");

impl Jobs<'_> {
    /// Releases at most `limit` relatives of jobs that have ended, and returns whether more are left.
    pub async fn release_relatives(self, limit: usize) -> Result<bool, Error> {
        let mut call = self.0.call(&FUNCTION);
        call.arg(limit);
        let answer: Vec<Text> = self.0.commands.function(&call).await?;
        let more: u8 = answer.first().and_then(Text::parse).ok_or_else(|| unexpected("release_relatives", &answer))?;
        self.0.wake_ups.wake_all(answer.iter().skip(1).filter_map(|text| text.0.as_ref()));
        Ok(more == 1)
    }

    /// Returns when a job with relatives ended in this process.
    pub async fn ended_with_relatives(self) {
        self.0.releases.notified().await;
    }
}
