use std::path::Path;
use std::time::Duration;

use anyhow::Context as _;
use tokio::time::Instant;

use super::{Hosting, Pools};
use crate::log_file::LogDirectory;
use crate::model::{ContextId, JobId};
use crate::sal::Files;
use crate::store::{Error, Store};

/// Time for other servers to see that a context is being deleted, before anything is removed: they check three times
/// a second.
const ANNOUNCEMENT_TIME: Duration = Duration::from_secs(1);
/// Timeout for stopped jobs to end, and for telling other nodes about stops. After it the data is removed, and the ends
/// of these jobs are not recorded.
const STOP_TIMEOUT: Duration = Duration::from_secs(30);
/// Interval at which the jobs are checked.
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// The pause between two steps, so that Redis can do other work.
const STEP_PAUSE: Duration = Duration::from_millis(5);
/// The pause before a failed deletion is tried again.
const RETRY_DELAY: Duration = Duration::from_secs(2);

impl Hosting {
    /// Deletes the rest of a context in the background, unless this is already under way here. Each server does so,
    /// because each removes the files on its own machine; deleting the same keys twice does no harm.
    pub(super) fn delete(&self, context: ContextId) {
        let mut deleting = self.0.deleting.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if !deleting.insert(context) {
            return;
        }
        self.0.dispatcher.contexts().refuse(context);
        let hosting = self.clone();
        self.0.tasks.spawn(async move {
            let deleted = tokio::select! {
                deleted = hosting.delete_all(context) => deleted,
                // The next start of a server continues the deletion.
                () = hosting.0.shutdown.cancelled() => Ok(()),
            };
            if let Err(error) = deleted {
                tracing::warn!(%context, "a context cannot be deleted now, and is tried again: {error:#}");
                tokio::select! {
                    () = tokio::time::sleep(RETRY_DELAY) => {}
                    () = hosting.0.shutdown.cancelled() => {}
                }
            }
            hosting.0.deleting.lock().unwrap_or_else(std::sync::PoisonError::into_inner).remove(&context);
        });
    }

    async fn delete_all(&self, context: ContextId) -> anyhow::Result<()> {
        tracing::info!(%context, "deleting a context with everything in it");
        let home = self.0.dispatcher.contexts().opened(ContextId(0))?;
        let store = home.beside(context).await?;
        // A context whose creation was never completed is not closed yet.
        store.contexts().close(true).await?;
        let told = Instant::now();
        self.stop_jobs(&store).await?;
        self.leave(context).await;
        tokio::time::sleep_until(told + ANNOUNCEMENT_TIME).await;
        loop {
            let (mut cursor, mut gone) = (0, 0);
            loop {
                let (next, of_step) = store.contexts().purge(cursor).await?;
                (cursor, gone) = (next, gone + of_step);
                if cursor == 0 {
                    break;
                }
                tokio::time::sleep(STEP_PAUSE).await;
            }
            // A server may have written something after the scan passed.
            if gone == 0 {
                break;
            }
        }
        self.remove_files(context).await?;
        self.0.authority.bury_context(&store).await?;
        tracing::info!(%context, "a context is deleted");
        Ok(())
    }

    /// Stops the running jobs of a context. Waits a limited time until they have ended, and until remote jobs have been
    /// stopped on the other node.
    async fn stop_jobs(&self, store: &Store) -> Result<(), Error> {
        let until = Instant::now() + STOP_TIMEOUT;
        let mut told: Vec<JobId> = Vec::new();
        loop {
            let running = store.queues().leased(1000).await?;
            let untold = store.messages().untold_stops().await?;
            if running.is_empty() && untold == 0 {
                return Ok(());
            }
            if Instant::now() >= until {
                let (context, running) = (store.context(), running.len());
                tracing::warn!(
                    %context, running, untold,
                    "a context is deleted although jobs of it run, or other nodes have not been told that jobs were stopped, which may run on there"
                );
                return Ok(());
            }
            for job in running.iter().filter(|job| !told.contains(job)) {
                store.jobs().stop(job).await?;
            }
            told = running;
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }

    /// Closes a context here even if it is in use: first its pools end, then its loops.
    pub(super) async fn leave(&self, context: ContextId) {
        self.shut_pools(context);
        loop {
            let is_over = match self.hosted().get(&context) {
                None => true,
                Some(hosted) => matches!(hosted.pools, Pools::None),
            };
            if is_over {
                break;
            }
            tokio::time::sleep(POLL_INTERVAL).await;
            self.shut_pools(context);
        }
        self.shut(context, None).await;
    }

    /// Closes a context in the background, unless this is under way. Its scripts get the grace period, and other
    /// contexts do not wait for it.
    pub(super) fn leave_in_background(&self, context: ContextId) {
        let mut leaving = self.0.leaving.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if !leaving.insert(context) {
            return;
        }
        let hosting = self.clone();
        self.0.tasks.spawn(async move {
            hosting.leave(context).await;
            hosting.0.leaving.lock().unwrap_or_else(std::sync::PoisonError::into_inner).remove(&context);
        });
    }

    /// Removes the log files of a context and the files that its scripts wrote, on this machine.
    async fn remove_files(&self, context: ContextId) -> anyhow::Result<()> {
        let logs = LogDirectory::new(&self.0.settings.log_dir).of(context);
        let files = Files::new(&self.0.settings.data, context, 0);
        let directories = [logs.root(), files.directory(), files.homes()].map(Path::to_owned);
        let removing = move || {
            for directory in directories {
                match std::fs::remove_dir_all(&directory) {
                    Ok(()) => {}
                    Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                    Err(error) => return Err(anyhow::Error::new(error).context(format!("cannot remove {}", directory.display()))),
                }
            }
            Ok(())
        };
        tokio::task::spawn_blocking(removing).await.context("the files of a context were not removed")?
    }
}
