use crate::Error;
use crate::library::fcall::Function;
use crate::views::Jobs;
use hero_model::{JobId, Progress};

const FUNCTION: Function = Function("note_progress");

impl Jobs<'_> {
    /// Stores the progress that a running job reports, and tells its followers. Returns false if this server does not hold the
    /// [claim](crate::Claimed::claim) any more.
    pub async fn note_progress(self, job: &JobId, claim: u32, progress: &Progress) -> Result<bool, Error> {
        let mut call = self.0.call(&FUNCTION);
        call.arg(job.as_str()).arg(claim).arg(serde_json::to_string(progress).expect("a progress is JSON"));
        self.0.commands.function(&call).await
    }
}
