use std::time::Duration;

use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::{Peer, RoleServer};
use tokio::time::{Instant, sleep_until};

use super::result::head;
use hero_client::{Client, Error, Followed};
use hero_model::{ContextId, FlowEvent, FlowId, JobEvent, JobId};

/// The lines that a script logs in this time are sent together.
const SEND_INTERVAL: Duration = Duration::from_millis(100);
/// Maximum number of lines that are sent at once. If there are more, the last ones are sent.
const MAX_LINES_PER_MESSAGE: usize = 50;
/// Maximum number of bytes that are sent at once.
const MAX_BYTES_PER_MESSAGE: usize = 4096;
/// Sent if the server no longer has the next lines.
const MISSING: &str = "(something is missing here)";

/// Sends the progress of a job or a flow to a client that asked for it, while it waits.
pub(super) struct Teller {
    peer: Peer<RoleServer>,
    token: ProgressToken,
    /// The number of notifications that were sent. The protocol requires a number that grows; the progress of the job
    /// is in the message.
    sent: u32,
    lines: Vec<String>,
    left_out: usize,
    /// The time at which the next lines may be sent.
    due: Instant,
}

impl Teller {
    pub(super) fn new(peer: Peer<RoleServer>, token: ProgressToken) -> Self {
        Self { peer, token, sent: 0, lines: Vec::new(), left_out: 0, due: Instant::now() }
    }

    fn note(&mut self, line: String) {
        if self.lines.len() == MAX_LINES_PER_MESSAGE {
            self.lines.remove(0);
            self.left_out += 1;
        }
        self.lines.push(line);
    }

    /// Sends the noted lines, if there are any.
    pub(super) async fn tell(&mut self) {
        let (lines, left_out) = (std::mem::take(&mut self.lines), std::mem::take(&mut self.left_out));
        if lines.is_empty() {
            return;
        }
        self.sent += 1;
        self.due = Instant::now() + SEND_INTERVAL;
        let before = if left_out > 0 { format!("({left_out} lines are left out here; get_logs has them)\n") } else { String::new() };
        let message = head(&format!("{before}{}", lines.join("\n")), MAX_BYTES_PER_MESSAGE);
        let progress = ProgressNotificationParam::new(self.token.clone(), f64::from(self.sent)).with_message(message);
        // Ignored if the client is gone.
        let _ = self.peer.notify_progress(progress).await;
    }

    /// Sends the progress of a job until there is no more.
    pub(super) async fn job(&mut self, client: &Client, context: ContextId, id: &JobId) -> Result<(), Error> {
        let (mut logs, mut changes) = (client.follow_logs(context, id, None).await?, client.follow_job(context, id).await?);
        let (mut more_logs, mut more_changes) = (true, true);
        while more_logs || more_changes || !self.lines.is_empty() {
            tokio::select! {
                () = sleep_until(self.due), if !self.lines.is_empty() => self.tell().await,
                line = logs.next(), if more_logs => match line? {
                    Followed::Item(line) => self.note(line.text),
                    Followed::Lagged => self.note(MISSING.to_owned()),
                    Followed::Ended => more_logs = false,
                },
                change = changes.next(), if more_changes => match change? {
                    Followed::Item(change) => self.note(of_job(&change)),
                    Followed::Lagged => self.note(MISSING.to_owned()),
                    Followed::Ended => more_changes = false,
                },
            }
        }
        Ok(())
    }

    /// Sends the progress of a flow until there is no more.
    pub(super) async fn flow(&mut self, client: &Client, context: ContextId, id: FlowId) -> Result<(), Error> {
        let (mut changes, mut more) = (client.follow_flow(context, id, None).await?, true);
        while more || !self.lines.is_empty() {
            tokio::select! {
                () = sleep_until(self.due), if !self.lines.is_empty() => self.tell().await,
                change = changes.next(), if more => match change? {
                    Followed::Item(change) => self.note(of_flow(&change)),
                    Followed::Lagged => self.note(MISSING.to_owned()),
                    Followed::Ended => more = false,
                },
            }
        }
        Ok(())
    }
}

fn of_job(change: &JobEvent) -> String {
    let state = format!("job {} is {}", change.job_id, change.status);
    match &change.progress {
        Some(progress) => format!("{state}: {} {}", progress.value, progress.text).trim_end().to_owned(),
        None => state,
    }
}

fn of_flow(change: &FlowEvent) -> String {
    match (&change.job, change.job_status) {
        (Some(job), Some(status)) => format!("{job} is {status}, {} jobs have not ended", change.open),
        _ => format!("flow {} is {}, {} jobs have not ended", change.flow_id, change.status.as_str(), change.open),
    }
}
