use std::sync::{Mutex, PoisonError, Weak};
use std::time::Duration;

use tokio::time::{Instant, sleep_until, timeout};

use super::batch::{Batch, Request, Weight};
use super::{Created, Error, Inner, NewJob};

/// What a relation that was followed has to wait for: three to five times the 5 to 8 µs that it takes Redis, so that following leaves most of its time
/// to others.
const PRICE: Duration = Duration::from_micros(25);
/// So much may be owed without a wait: one long walk, or many short ones.
const CREDIT: Duration = Duration::from_millis(100);
/// A job waits no longer for the relations of others to be followed. Who asked for it is told before he gives up.
const PATIENCE: Duration = Duration::from_secs(3);

/// How fast relations are followed. Who made Redis follow many has all that follow wait, whether or not his job was stored.
pub(super) struct Pace {
    paid_until: Mutex<Instant>,
}

impl Default for Pace {
    fn default() -> Self {
        Self { paid_until: Mutex::new(Instant::now()) }
    }
}

impl Pace {
    /// Waits until what was followed so far is paid for.
    pub(super) async fn wait(&self) {
        let paid_until = *self.paid_until.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(from) = paid_until.checked_sub(CREDIT) {
            sleep_until(from).await;
        }
    }

    /// The same; false: it would take too long.
    pub(super) async fn wait_with_patience(&self) -> bool {
        timeout(PATIENCE, self.wait()).await.is_ok()
    }

    /// Notes that so many relations were followed.
    pub(super) fn pay(&self, followed: u32) {
        let mut paid_until = self.paid_until.lock().unwrap_or_else(PoisonError::into_inner);
        *paid_until = Instant::now().max(*paid_until) + PRICE * followed;
    }
}

/// A job that has relations, which Redis may have to follow.
pub(super) struct Related {
    job: NewJob,
    since: Instant,
}

impl Related {
    pub(super) fn now(job: NewJob) -> Self {
        Self { job, since: Instant::now() }
    }

    fn is_late(&self) -> bool {
        self.since.elapsed() > PATIENCE
    }
}

/// As [`create_batch`](super::scripts::create_batch), no faster than relations may be followed.
pub(super) fn relate_batch(store: Weak<Inner>) -> Batch<Related, Created> {
    Batch::new(move |asked: Vec<Related>| {
        let store = store.clone();
        async move {
            let Some(store) = store.upgrade() else { return (asked, Err(Error::Closed)) };
            store.pace.wait().await;
            if asked.iter().any(Related::is_late) {
                let answers = asked.iter().map(|one| one.is_late().then_some(Created::Busy)).collect();
                return (asked, Ok(answers));
            }
            let (jobs, since): (Vec<NewJob>, Vec<Instant>) = asked.into_iter().map(|one| (one.job, one.since)).unzip();
            let answers = store.create_all(&jobs, false).await;
            (jobs.into_iter().zip(since).map(|(job, since)| Related { job, since }).collect(), answers)
        }
    })
}

impl Request for Related {
    fn weight(&self) -> Weight {
        self.job.weight()
    }
}
