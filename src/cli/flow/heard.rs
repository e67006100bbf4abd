//! What the jobs of a flow say while they run: the lines of their logs, and how far they are.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};

use crate::client::Client;
use crate::model::{ContextId, FlowEvent, JobId, LogLine, Progress, Status};

/// So many jobs are listened to at once; `hero flow logs` has the lines of the others.
const MOST: usize = 16;
/// How long the last lines are waited for.
const DRAIN: Duration = Duration::from_secs(5);
/// How many lines wait to be shown.
const WAITING: usize = 256;

/// What a job said.
pub(super) enum Said {
    Line(String, LogLine),
    Progress(String, Progress),
}

/// Listens to the jobs of a flow.
pub(super) struct Heard {
    client: Client,
    context: ContextId,
    listeners: JoinSet<JobId>,
    heard: HashSet<JobId>,
    /// The last line of each job that was said, by the job's name.
    cursors: HashMap<String, String>,
    sender: mpsc::Sender<Said>,
    said: mpsc::Receiver<Said>,
}

impl Heard {
    pub(super) fn new(client: &Client, context: ContextId) -> Self {
        let (sender, said) = mpsc::channel(WAITING);
        let (listeners, heard, cursors) = Default::default();
        Self { client: client.clone(), context, listeners, heard, cursors, sender, said }
    }

    /// Listens on a new connection, behind what was said.
    pub(super) fn go_on(&mut self, client: &Client) {
        let cursors = std::mem::take(&mut self.cursors);
        *self = Self { cursors, ..Self::new(client, self.context) };
    }

    /// Listens to the job that this is about, once it runs.
    pub(super) fn note(&mut self, change: &FlowEvent) {
        while let Some(ended) = self.listeners.try_join_next() {
            drop(ended); // A listener that failed has nothing to say.
        }
        let (Some(name), Some(id), Some(is)) = (&change.job, &change.job_id, change.job_status) else { return };
        let is_worth_it =
            matches!(is, Status::Started | Status::Finished | Status::Error) && change.attempt.is_some_and(|attempt| attempt > 0);
        if !is_worth_it || self.listeners.len() >= MOST || !self.heard.insert(id.clone()) {
            return;
        }
        let (client, context, name, id, sender) = (self.client.clone(), self.context, name.clone(), id.clone(), self.sender.clone());
        let cursor = self.cursors.get(&name).cloned();
        self.listeners.spawn(listen(client, context, (name, id), cursor, sender));
    }

    /// The next that a job says.
    pub(super) async fn next(&mut self) -> Option<Said> {
        let said = self.said.recv().await;
        if let Some(Said::Line(name, line)) = &said {
            self.cursors.insert(name.clone(), line.cursor.clone());
        }
        said
    }

    /// What is left to be said when all jobs have ended.
    pub(super) async fn rest(mut self) -> Vec<Said> {
        let (deadline, mut rest) = (Instant::now() + DRAIN, Vec::new());
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

/// Hands on what a job says until it has ended.
async fn listen(
    client: Client,
    context: ContextId,
    (name, id): (String, JobId),
    cursor: Option<String>,
    sender: mpsc::Sender<Said>,
) -> JobId {
    let lines = async {
        let Ok(mut lines) = client.follow_logs(context, &id, cursor.as_deref()).await else { return };
        while let Ok(Some(line)) = lines.next().await {
            if sender.send(Said::Line(name.clone(), line)).await.is_err() {
                return;
            }
        }
    };
    let progress = async {
        let Ok(mut changes) = client.follow_job(context, &id).await else { return };
        while let Ok(Some(change)) = changes.next().await {
            if let Some(progress) = change.progress
                && sender.send(Said::Progress(name.clone(), progress)).await.is_err()
            {
                return;
            }
        }
    };
    tokio::join!(lines, progress);
    id
}
