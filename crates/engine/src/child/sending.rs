use std::borrow::Cow;
use std::io;

use tokio::time::timeout;

use super::Child;
use super::outbox::READ_TIMEOUT;
use crate::frame::ToEngine;
use crate::{Answer, EngineJob, RunResult};
use hero_model::{ErrorKind, JobError, Limit, Usage};

impl Child {
    /// Writes the job into the send buffer, or returns at once why it cannot run.
    pub(super) fn refuse(&mut self, job: &EngineJob, in_repl: bool) -> Option<RunResult> {
        let encoded = self.settings.limits.check_length(&job.script).and_then(|()| {
            self.outbox.put(&ToEngine::Run { job: Cow::Borrowed(job), in_repl }).map_err(|error| {
                let message = format!("the job does not fit into an engine: {error}");
                JobError { limit: Some(Limit::Memory), ..JobError::new(ErrorKind::Limit, message) }
            })
        });
        encoded.err().map(|error| RunResult { result: Err(error), usage: Usage::default() })
    }

    /// Sends the answer to a host call, as far as the engine reads.
    pub(super) fn say_answer(&mut self, answer: Answer) {
        if let Err(error) = self.outbox.put(&ToEngine::Answer { answer }) {
            return self.say(&ToEngine::Answer { answer: Err(format!("the answer does not fit into an engine: {error}")) });
        }
        self.outbox.write(&self.socket);
    }

    /// Sends a small frame after those that are not written yet, as far as the engine reads.
    pub(super) fn say(&mut self, frame: &ToEngine<'_>) {
        self.outbox.put(frame).expect("it is a small frame");
        self.outbox.write(&self.socket);
    }

    /// Sends the send buffer to an engine that only reads: one system call, unless the engine is slow.
    pub(super) async fn send(&mut self) -> io::Result<()> {
        loop {
            self.outbox.try_write(&self.socket)?;
            if self.outbox.is_empty() {
                return Ok(());
            }
            timeout(READ_TIMEOUT, self.socket.writable()).await??;
        }
    }
}
