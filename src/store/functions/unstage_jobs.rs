use super::create::NewJob;
use crate::model::JobId;
use crate::store::Inner;
use crate::store::fcall::{Function, list};

const FUNCTION: Function = Function("unstage_jobs");

/// How many jobs a call takes away.
const AT_ONCE: usize = 100;

impl Inner {
    /// Takes away what was staged of a group, as far as that is possible now. What is left goes by itself.
    pub(super) async fn unstage(&self, group: &JobId, jobs: &[NewJob]) {
        let staged: Vec<(usize, &NewJob)> = jobs.iter().enumerate().collect();
        for some in staged.chunks(AT_ONCE) {
            let mut call = self.call(&FUNCTION);
            call.arg(group.as_str()).arg(list(some.iter().map(|(place, _)| place + 1)));
            let keyed: Vec<(String, &JobId)> =
                some.iter().filter_map(|(_, job)| Some((job.key_digest(job.spec.idempotency_key.as_ref()?), &job.id))).collect();
            call.arg(keyed.len());
            for (digest, id) in keyed {
                call.arg(digest).arg(id.as_str());
            }
            if self.commands.function::<u8>(&call).await.is_err() {
                return;
            }
        }
    }
}
