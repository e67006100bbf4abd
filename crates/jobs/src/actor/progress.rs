use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::mask::Masker;
use super::patience::Passing;
use hero_model::{JobId, Progress, excerpt};
use hero_store::Store;

/// How often it is written at most. Each is an event, of which there are not more than some.
const EVERY: Duration = Duration::from_millis(500);
/// How long its text may be, in characters; what an engine may send is far longer.
const LONGEST: usize = 200;
/// How much of a longer text is looked at for secrets, in bytes.
const LOOKED_AT: usize = 4096;
/// How long the end of a job waits until the last is written.
const FLUSH: Duration = Duration::from_secs(5);

/// Tells how far a job is: the newest of what it says, twice a second at most, and always the last.
pub(super) struct ProgressTeller {
    newest: watch::Sender<Option<Progress>>,
    ending: CancellationToken,
    task: JoinHandle<()>,
}

impl ProgressTeller {
    pub(super) fn new(store: Store, job: JobId, claim: u32, masker: Masker) -> Self {
        let ((newest, progress), ending) = (watch::channel(None), CancellationToken::new());
        Self { newest, task: tokio::spawn(tell(store, job, claim, masker, progress, ending.clone())), ending }
    }

    /// Has it told, unless something newer comes first.
    pub(super) fn say(&self, progress: Progress) {
        self.newest.send_replace(Some(progress));
    }

    /// Waits until the last is written.
    pub(super) async fn finish(self) {
        self.ending.cancel();
        drop(self.newest);
        // It is of little worth now, so the end of the job is not held up for ever.
        let mut task = self.task;
        if timeout(FLUSH, &mut task).await.is_err() {
            task.abort();
        }
    }
}

async fn tell(
    store: Store,
    job: JobId,
    claim: u32,
    masker: Masker,
    mut progress: watch::Receiver<Option<Progress>>,
    ending: CancellationToken,
) {
    // What was said last is still given when nothing more can be said.
    while progress.changed().await.is_ok() {
        let Some(newest) = progress.borrow_and_update().clone() else { continue };
        let newest = Progress { text: shown(&masker, newest.text).await, ..newest };
        match store.jobs().note_progress(&job, claim, &newest).await {
            Ok(true) => {}
            Ok(false) => return,
            // It is told as soon as that is possible, unless something newer is said meanwhile.
            Err(error) if error.passes() => {
                progress.mark_changed();
                tokio::time::sleep(EVERY).await;
                continue;
            }
            Err(error) => tracing::debug!(%job, %error, "the progress of a job could not be written"),
        }
        tokio::select! {
            () = tokio::time::sleep(EVERY) => {}
            () = ending.cancelled() => {}
        }
    }
}

/// The beginning of a text without secrets.
async fn shown(masker: &Masker, mut text: String) -> String {
    if text.len() > LOOKED_AT {
        text.truncate((0..=LOOKED_AT).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0));
        // So that a secret that was cut is recognised.
        text.push('…');
    }
    excerpt(&masker.text(text).await, LONGEST).into_owned()
}
