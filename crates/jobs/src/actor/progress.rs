use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::mask::Masker;
use super::store_retry::Retryable;
use hero_model::{JobId, Progress, excerpt};
use hero_store::{SpeculativeRun, Store, may_have_effects};

/// Minimum time between two writes. Each write is an event, and their number is limited.
const MIN_WRITE_INTERVAL: Duration = Duration::from_millis(500);
/// Maximum length of the text, in characters. An engine may send a far longer one.
const MAX_TEXT_CHARS: usize = 200;
/// Maximum length of the beginning of a text that is searched for secrets, in bytes.
const MAX_SEARCHED_BYTES: usize = 4096;
/// Timeout for the last write at the end of a job.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(5);

/// Writes the progress of a job: the newest value, at most twice a second, and always the last.
pub(super) struct ProgressWriter {
    newest: watch::Sender<Option<Progress>>,
    ending: CancellationToken,
    task: JoinHandle<()>,
}

impl ProgressWriter {
    /// `speculation` is set if the job is not stored yet.
    pub(super) fn new(store: Store, job: JobId, claim: u32, masker: Masker, speculation: Option<SpeculativeRun>) -> Self {
        let ((newest, progress), ending) = (watch::channel(None), CancellationToken::new());
        let writing = write(store, job, claim, masker, progress, ending.clone());
        let task = tokio::spawn(async move {
            if may_have_effects(speculation.as_ref()).await {
                writing.await;
            }
        });
        Self { newest, task, ending }
    }

    /// Writes this progress, unless a newer one replaces it first.
    pub(super) fn set(&self, progress: Progress) {
        self.newest.send_replace(Some(progress));
    }

    /// Waits until the last progress is written.
    pub(super) async fn finish(self) {
        self.ending.cancel();
        drop(self.newest);
        // Progress matters little by now, so the end of the job waits for it only for a limited time.
        let mut task = self.task;
        if timeout(FLUSH_TIMEOUT, &mut task).await.is_err() {
            task.abort();
        }
    }
}

async fn write(
    store: Store,
    job: JobId,
    claim: u32,
    masker: Masker,
    mut progress: watch::Receiver<Option<Progress>>,
    ending: CancellationToken,
) {
    // The last value is still received after its sender is dropped.
    while progress.changed().await.is_ok() {
        let Some(newest) = progress.borrow_and_update().clone() else { continue };
        let newest = Progress { text: shown(&masker, newest.text).await, ..newest };
        match store.jobs().note_progress(&job, claim, &newest).await {
            Ok(true) => {}
            Ok(false) => return,
            // Written as soon as possible, unless a newer one replaces it meanwhile.
            Err(error) if error.is_retryable() => {
                progress.mark_changed();
                tokio::time::sleep(MIN_WRITE_INTERVAL).await;
                continue;
            }
            Err(error) => tracing::debug!(%job, %error, "the progress of a job could not be written"),
        }
        tokio::select! {
            () = tokio::time::sleep(MIN_WRITE_INTERVAL) => {}
            () = ending.cancelled() => {}
        }
    }
}

/// Returns the beginning of a text, without secrets.
async fn shown(masker: &Masker, mut text: String) -> String {
    if text.len() > MAX_SEARCHED_BYTES {
        text.truncate((0..=MAX_SEARCHED_BYTES).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0));
        // Marks the cut, so that a secret that was cut is recognised.
        text.push('…');
    }
    excerpt(&masker.text(text).await, MAX_TEXT_CHARS).into_owned()
}
