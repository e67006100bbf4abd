use std::borrow::Cow;
use std::time::Duration;

use tokio::io::AsyncReadExt;
use tokio::time::timeout;

use super::{Child, bounded};
use crate::frame::{FromEngine, ToEngine};
use crate::{Died, Limits, Names};
use hero_model::JobError;

impl Child {
    /// The limits of its scripts.
    pub fn limits(&self) -> &Limits {
        &self.settings.limits
    }

    /// Compiles a script without running it. Returns its error, if there is one.
    ///
    /// An engine that takes longer than `within` is killed. After [`Died`] the state of the script is unknown.
    pub async fn check(&mut self, script: &str, names: Names, within: Duration) -> Result<Option<JobError>, Died> {
        if !self.idle {
            return Err(Died::new("the engine is dead or busy").without_job());
        }
        if let Err(error) = self.settings.limits.check_length(script) {
            return Ok(Some(error));
        }
        self.outbox.put(&ToEngine::Check { script: Cow::Borrowed(script), names })?;
        self.idle = false;
        match timeout(within, self.checked()).await {
            Ok(checked) => checked,
            Err(_) => Err(self.broke("it compiled a script for too long").await),
        }
    }

    async fn checked(&mut self) -> Result<Option<JobError>, Died> {
        if self.send().await.is_err() {
            return Err(self.died().await.without_job());
        }
        loop {
            match self.inbox.take()? {
                Some(FromEngine::Checked { error }) if error.as_ref().is_none_or(bounded) => {
                    self.idle = true;
                    return Ok(error);
                }
                Some(_) => return Err(self.broke("it did not answer with what is wrong with a script").await),
                None => {
                    if !matches!(self.socket.read_buf(self.inbox.room()).await, Ok(1..)) {
                        return Err(self.died().await);
                    }
                }
            }
        }
    }
}
