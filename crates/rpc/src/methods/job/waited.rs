use std::time::Duration;

use tokio::time::Instant;

use crate::app::App;
use crate::error::Error;
use crate::memory::{AnswerReservations, Size};
use crate::session::auth::Session;
use hero_jobs::dispatch::{self, Awaited};
use hero_model::{ContextId, JobId, JobResult};

/// A wait whose job has finished.
pub(super) struct Waited {
    pub(super) context: ContextId,
    pub(super) deadline: Instant,
    pub(super) in_batch: bool,
}

impl Waited {
    /// Returns its result. Many results may come at once, so a long one is read, possibly again, when there is room for it.
    pub(super) async fn result(self, mut awaited: Awaited, app: &App, session: &Session) -> Result<JobResult, Error> {
        let connection = session.connection();
        loop {
            let job_id = match awaited {
                Awaited::Whole(result) if connection.accepts(self.in_batch) => return Ok(result),
                Awaited::Whole(result) if result.output.len() <= MAX_KEPT_BYTES => {
                    self.admit(Size::Small, app, session).await?;
                    return Ok(result);
                }
                Awaited::Whole(result) => result.job_id,
                Awaited::Long(job_id) => job_id,
            };
            let reservations = self.admit(Size::Medium, app, session).await?;
            if let Some(result) = self.read(&job_id, app).await? {
                return Ok(result);
            }
            // The job was run again meanwhile, so this waits as before, without a reservation.
            drop(reservations);
            let rest = self.deadline.saturating_duration_since(Instant::now());
            awaited = app.dispatcher.jobs().wait_until_end(self.context, &job_id, rest).await?;
        }
    }

    /// Waits until there is room. Within a batch the time is limited, because the other answers stay in memory meanwhile.
    async fn admit(&self, size: Size, app: &App, session: &Session) -> Result<AnswerReservations, Error> {
        let (admitted, time_limit) = (session.connection().admit(size, self.in_batch), app.details.limits.handler_timeout.duration());
        if self.in_batch {
            return tokio::time::timeout(time_limit, admitted).await.map_err(|_| Error::no_room());
        }
        Ok(admitted.await)
    }

    async fn read(&self, job_id: &JobId, app: &App) -> Result<Option<JobResult>, Error> {
        // The result existed already, so a store that is slow or away for a moment must not end the wait.
        let deadline = Instant::now() + app.details.limits.handler_timeout.duration();
        loop {
            match app.dispatcher.jobs().whole(self.context, job_id, app.details.limits.response_bytes as usize, deadline).await {
                Err(dispatch::Error::Store { source, .. }) if source.may_pass() && Instant::now() < deadline => {
                    tracing::debug!(error = %source, %job_id, "a result that found no room is read once more");
                    tokio::time::sleep(REREAD_DELAY).await;
                }
                result => return Ok(result?),
            }
        }
    }
}

/// The longest output that is kept while it waits for room. Longer ones are read again, because an address may have 8,192 waits.
const MAX_KEPT_BYTES: usize = 8 * 1024;

/// The pause before a dropped result is read again.
const REREAD_DELAY: Duration = Duration::from_millis(100);
