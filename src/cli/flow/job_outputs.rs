//! The log lines and progress of a flow's jobs while they run.

use std::collections::HashSet;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};

use crate::client::{Client, Follow, Followable, Followed};
use crate::model::{ContextId, FlowEvent, JobId, LogLine, Progress, Status};

/// The maximum number of jobs to follow at once; `hero flow logs` shows the lines of the others.
const MAX_FOLLOWED_JOBS: usize = 16;
/// Timeout for the last lines.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(5);
/// The maximum number of lines waiting to be shown.
const MAX_WAITING_LINES: usize = 256;

/// An output of a job.
pub(super) enum JobOutput {
    Line(String, LogLine),
    Progress(String, Progress),
}

/// Follows the jobs of a flow.
pub(super) struct JobOutputs {
    client: Client,
    context: ContextId,
    listeners: JoinSet<JobId>,
    heard: HashSet<JobId>,
    sender: mpsc::Sender<JobOutput>,
    said: mpsc::Receiver<JobOutput>,
}

impl JobOutputs {
    pub(super) fn new(client: &Client, context: ContextId) -> Self {
        let (sender, said) = mpsc::channel(MAX_WAITING_LINES);
        let (listeners, heard) = Default::default();
        Self { client: client.clone(), context, listeners, heard, sender, said }
    }

    /// Follows the job of this change, once it runs.
    pub(super) fn note(&mut self, change: &FlowEvent) {
        while let Some(ended) = self.listeners.try_join_next() {
            drop(ended); // The error of a failed listener is not shown.
        }
        let (Some(name), Some(id), Some(is)) = (&change.job, &change.job_id, change.job_status) else { return };
        let is_worth_it =
            matches!(is, Status::Started | Status::Finished | Status::Error) && change.attempt.is_some_and(|attempt| attempt > 0);
        if !is_worth_it || self.listeners.len() >= MAX_FOLLOWED_JOBS || !self.heard.insert(id.clone()) {
            return;
        }
        let (client, context, name, id, sender) = (self.client.clone(), self.context, name.clone(), id.clone(), self.sender.clone());
        self.listeners.spawn(listen(client, context, (name, id), sender));
    }

    /// Returns the next output of any job.
    pub(super) async fn next(&mut self) -> Option<JobOutput> {
        self.said.recv().await
    }

    /// Returns the remaining output when all jobs have ended.
    pub(super) async fn rest(mut self) -> Vec<JobOutput> {
        let (deadline, mut rest) = (Instant::now() + DRAIN_TIMEOUT, Vec::new());
        drop(self.sender);
        loop {
            tokio::select! {
                said = self.said.recv() => match said {
                    Some(said) => rest.push(said),
                    None => return rest,
                },
                () = sleep_until(deadline) => return rest,
            }
        }
    }
}

/// Forwards the output of a job until it has ended.
async fn listen(client: Client, context: ContextId, (name, id): (String, JobId), sender: mpsc::Sender<JobOutput>) -> JobId {
    let lines = async {
        let Ok(mut lines) = client.follow_logs(context, &id, None).await else { return };
        while let Some(line) = next(&mut lines).await {
            if sender.send(JobOutput::Line(name.clone(), line)).await.is_err() {
                return;
            }
        }
    };
    let progress = async {
        let Ok(mut changes) = client.follow_job(context, &id).await else { return };
        while let Some(change) = next(&mut changes).await {
            if let Some(progress) = change.progress
                && sender.send(JobOutput::Progress(name.clone(), progress)).await.is_err()
            {
                return;
            }
        }
    };
    tokio::join!(lines, progress);
    id
}

/// Returns the next item; `None` at the end.
async fn next<T: Followable>(items: &mut Follow<T>) -> Option<T> {
    loop {
        match items.next().await {
            Ok(Followed::Item(item)) => return Some(item),
            Ok(Followed::Lagged) => {} // `hero flow logs` shows this, too.
            Ok(Followed::Ended) | Err(_) => return None,
        }
    }
}
