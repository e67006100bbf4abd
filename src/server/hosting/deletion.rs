use std::path::Path;
use std::time::Duration;

use anyhow::Context as _;
use tokio::time::Instant;

use super::{Hosting, Pools};
use crate::log_file::LogDirectory;
use crate::model::{ContextId, JobId};
use crate::sal::Files;
use crate::store::{Error, Store};

/// How long the other servers have to see that a context is being deleted before anything of it goes: they look five times a second.
const SEEN: Duration = Duration::from_secs(1);
/// How long jobs that were told to stop may go on, and how long others are told of stops. After that what they hold goes, and their ends are not recorded.
const STOPS: Duration = Duration::from_secs(30);
/// How often it is looked whether they have ended.
const LOOK: Duration = Duration::from_millis(100);
/// The pause between two steps, so that Redis does other work, too.
const STEP: Duration = Duration::from_millis(5);
/// After what time a deletion that failed is tried again.
const AGAIN: Duration = Duration::from_secs(2);

impl Hosting {
    /// Deletes what is left of a context in the background, if that is not under way here. Each server does: the files on its machine are its own, and what is
    /// gone already is nobody's loss.
    pub(super) fn delete(&self, context: ContextId) {
        let mut deleting = self.0.deleting.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if !deleting.insert(context) {
            return;
        }
        self.0.dispatcher.refuse(context);
        let hosting = self.clone();
        self.0.tasks.spawn(async move {
            let deleted = tokio::select! {
                deleted = hosting.delete_all(context) => deleted,
                // The next start of a server goes on.
                () = hosting.0.shutdown.cancelled() => Ok(()),
            };
            if let Err(error) = deleted {
                tracing::warn!(%context, "a context cannot be deleted now, and is tried again: {error:#}");
                tokio::select! {
                    () = tokio::time::sleep(AGAIN) => {}
                    () = hosting.0.shutdown.cancelled() => {}
                }
            }
            hosting.0.deleting.lock().unwrap_or_else(std::sync::PoisonError::into_inner).remove(&context);
        });
    }

    async fn delete_all(&self, context: ContextId) -> anyhow::Result<()> {
        tracing::info!(%context, "deleting a context with everything in it");
        let home = self.0.dispatcher.opened(ContextId(0))?;
        let store = home.beside(context).await?;
        // One that nobody has finished to make is not closed yet.
        store.close_context(true).await?;
        let told = Instant::now();
        self.stop_jobs(&store).await?;
        self.leave(context).await;
        tokio::time::sleep_until(told + SEEN).await;
        loop {
            let (mut cursor, mut gone) = (0, 0);
            loop {
                let (next, of_step) = store.purge(cursor).await?;
                (cursor, gone) = (next, gone + of_step);
                if cursor == 0 {
                    break;
                }
                tokio::time::sleep(STEP).await;
            }
            // A server may have written something behind the walk.
            if gone == 0 {
                break;
            }
        }
        self.remove_files(context).await?;
        self.0.authority.bury_context(&store).await?;
        tracing::info!(%context, "a context is deleted");
        Ok(())
    }

    /// Has the jobs of a context stopped that run, and waits until they have ended, and until those that are away have been stopped at the other side, but
    /// not for long.
    async fn stop_jobs(&self, store: &Store) -> Result<(), Error> {
        let until = Instant::now() + STOPS;
        let mut told: Vec<JobId> = Vec::new();
        loop {
            let running = store.leased(1000).await?;
            let untold = store.untold_stops().await?;
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
                store.stop(job).await?;
            }
            told = running;
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Has a context be open here no more, whoever uses it: its pools end, then its loops.
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
            tokio::time::sleep(LOOK).await;
            self.shut_pools(context);
        }
        self.shut(context, None).await;
    }

    /// The same in the background, if that is not under way: what runs there has the grace period, and other contexts do not wait for it.
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

    /// Removes the log files of a context and what its scripts wrote, on this machine.
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
