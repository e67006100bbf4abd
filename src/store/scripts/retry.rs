use std::sync::LazyLock;

use super::unexpected;
use crate::model::{JobId, Status};
use crate::store::codec::Text;
use crate::store::connection::Script;
use crate::store::{Error, Store};

static SCRIPT: LazyLock<Script> = LazyLock::new(|| Script::new(include_str!("retry.lua")));

/// What became of a job that was to run again.
#[derive(Debug, Clone, PartialEq)]
pub enum Retried {
    /// It is on its way.
    Started(Status),
    /// It has not ended.
    Illegal(Status),
    /// There is no such job.
    Missing,
    /// The queue is full.
    Full(u64),
    /// It would wait for itself by now, because others that it waits for were made to wait for it.
    Circle(Status),
    /// This prerequisite of it is in error.
    Blocked(JobId),
}

impl Store {
    /// Runs a job again that has ended. Its attempts count on, its failures and crashes from zero.
    pub async fn retry(&self, job: &JobId) -> Result<Retried, Error> {
        let mut call = self.0.call(&SCRIPT);
        call.arg(job.as_str()).arg(self.0.queue_limit);
        let answer: Vec<Text> = self.0.commands.script(&SCRIPT, &call).await?;
        let text = |at: usize| answer.get(at).and_then(|text| text.0.as_deref());
        let status = || Status::parse(text(1)).unwrap_or(Status::Started);
        match text(0) {
            Some("started") => {
                self.0.bells.ring_all(answer.get(2).and_then(|text| text.0.as_ref()));
                Ok(Retried::Started(status()))
            }
            Some("illegal") => Ok(Retried::Illegal(status())),
            Some("missing") => Ok(Retried::Missing),
            Some("full") => Ok(Retried::Full(text(1).and_then(|length| length.parse().ok()).unwrap_or(0))),
            Some("circle") => Ok(Retried::Circle(status())),
            Some("blocked") => text(1).and_then(|id| id.parse().ok()).map(Retried::Blocked).ok_or_else(|| unexpected("retry", &answer)),
            _ => Err(unexpected("retry", &answer)),
        }
    }
}
