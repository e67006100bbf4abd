use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::stream::{self, Stream};
use rand::Rng as _;
use tokio::sync::{Notify, watch};
use tokio::time::{Instant, sleep, timeout_at};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::address::Address;
use super::error::Error;
use super::login;
use super::wire::Wire;
use hero_model::PrivateKey;

/// How a client reconnects after its connection has ended.
///
/// The delay between attempts is a random part of a limit that doubles, so that clients of a server that was away do
/// not all connect at once. A connection counts as successful, and a later loss as a new one, only after the server has
/// answered something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reconnect {
    /// Time that the client tries to reconnect: zero means never, and [`Duration::MAX`] means for ever.
    pub patience: Duration,
    /// Maximum delay before the first attempt.
    pub shortest: Duration,
    /// Maximum delay before any attempt.
    pub longest: Duration,
}

impl Reconnect {
    /// Never reconnects.
    pub const NEVER: Self = Self::within(Duration::ZERO);

    /// Tries to reconnect for this time.
    pub const fn within(patience: Duration) -> Self {
        Self { patience, shortest: Duration::from_millis(250), longest: Duration::from_secs(10) }
    }

    pub(super) const fn is_never(&self) -> bool {
        self.patience.is_zero()
    }

    /// Returns the delay after this number of failures in a row.
    pub(super) fn delay(&self, failures: u32) -> Duration {
        let doubled = self.shortest.saturating_mul(1_u32.checked_shl(failures.saturating_sub(1)).unwrap_or(u32::MAX));
        doubled.min(self.longest).mul_f64(rand::rng().random())
    }
}

impl Default for Reconnect {
    fn default() -> Self {
        Self::within(Duration::from_secs(60))
    }
}

/// The state of the connection of a client.
#[derive(Debug, Clone)]
pub enum State {
    /// The connection is open, as far as this side knows.
    Open,
    /// The connection was lost, or could not be opened again. The next attempt comes after `delay`.
    Waiting {
        /// The number of that attempt, from 1.
        attempt: u32,
        /// The delay before the attempt.
        delay: Duration,
        /// The error of the connection, or of the last attempt.
        error: Error,
    },
    /// The connection is being opened again.
    Connecting {
        /// The number of this attempt, from 1.
        attempt: u32,
    },
    /// The client has stopped trying. Unless it never reconnects, the next call starts again.
    Down(Error),
}

/// The state with the connection.
#[derive(Clone)]
struct Known {
    state: State,
    wire: Option<Arc<Wire>>,
}

/// The settings for opening a connection.
pub(super) struct Way {
    /// `None` for a connection that the caller opened.
    pub(super) address: Option<Address>,
    pub(super) reconnect: Reconnect,
    /// How long the answer to a call is waited for.
    pub(super) answer: Duration,
    /// Who logs in on each connection.
    login: Mutex<Option<PrivateKey>>,
    /// Starts another search for a server that was given up.
    wanted: Notify,
}

/// The connection of a client, which is opened again after a loss.
pub(super) struct ConnectionManager {
    pub(super) way: Arc<Way>,
    known: watch::Receiver<Known>,
    _ends_with_this: DropGuard,
}

impl ConnectionManager {
    /// Looks after a connection that is open.
    pub(super) fn of(wire: Wire, address: Option<Address>, reconnect: Reconnect, answer: Duration) -> Self {
        let way = Arc::new(Way { address, reconnect, answer, login: Mutex::default(), wanted: Notify::new() });
        let (tell, known) = watch::channel(Known { state: State::Open, wire: Some(Arc::new(wire)) });
        let over = CancellationToken::new();
        tokio::spawn(keep(Arc::clone(&way), tell, over.clone()));
        Self { way, known, _ends_with_this: over.drop_guard() }
    }

    /// Returns the connection when it is open. With `wants`, starts another search for a server that was given up.
    pub(super) async fn wire(&self, mut wants: bool) -> Result<Arc<Wire>, Error> {
        let mut known = self.known.clone();
        // A client that never reconnects does not search.
        wants &= !self.way.reconnect.is_never();
        loop {
            match &*known.borrow_and_update() {
                Known { wire: Some(wire), .. } if wire.is_connected() => return Ok(Arc::clone(wire)),
                Known { state: State::Down(_), .. } if std::mem::take(&mut wants) => self.way.wanted.notify_waiters(),
                Known { state: State::Down(error), .. } => return Err(error.clone()),
                // A search is under way: another one would double the patience.
                Known { state: State::Waiting { .. } | State::Connecting { .. }, .. } => wants = false,
                // The connection has ended, which is not noticed yet. Its error may be one that starts no search.
                Known { state: State::Open, .. } => {}
            }
            // The sender lives as long as this.
            known.changed().await.map_err(|_| Error::Closed("this client has ended".to_owned()))?;
        }
    }

    pub(super) fn is_connected(&self) -> bool {
        self.known.borrow().wire.as_ref().is_some_and(|wire| wire.is_connected())
    }

    /// Logs in with this key on each new connection.
    pub(super) fn log_in_with(&self, key: &PrivateKey) {
        *self.way.login.lock().unwrap_or_else(PoisonError::into_inner) = Some(key.clone());
    }

    pub(super) fn states(&self) -> impl Stream<Item = State> + Send + Unpin + use<> {
        let mut known = self.known.clone();
        known.mark_changed();
        Box::pin(stream::unfold(known, async |mut known| {
            known.changed().await.ok()?;
            let state = known.borrow_and_update().state.clone();
            Some((state, known))
        }))
    }
}

impl Way {
    async fn open(&self, address: &Address) -> Result<Wire, Error> {
        let wire = address.open().await?;
        let login = self.login.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(key) = login {
            login::log_in(&wire, address.host(), &key, self.answer).await?;
        }
        Ok(wire)
    }
}

/// A connection that was open for this long counts as successful, even without an answer.
const STABLE_AFTER: Duration = Duration::from_secs(10);

/// The search for a server since its last answer.
struct Search {
    attempt: u32,
    /// The time at which to give up; `None` means never.
    deadline: Option<Instant>,
}

impl Search {
    fn begin(reconnect: &Reconnect) -> Self {
        Self { attempt: 0, deadline: Instant::now().checked_add(reconnect.patience) }
    }

    /// Counts the next attempt after this error, and returns the delay before it, or `None` if there is none.
    fn next(&mut self, reconnect: &Reconnect, error: &Error) -> Option<Duration> {
        let left = self.deadline.map_or(Duration::MAX, |deadline| deadline.saturating_duration_since(Instant::now()));
        if left.is_zero() || !error.may_pass() {
            return None;
        }
        self.attempt += 1;
        Some(reconnect.delay(self.attempt).min(left))
    }
}

/// Opens a connection again each time it ends, until `over`.
async fn keep(way: Arc<Way>, tell: watch::Sender<Known>, over: CancellationToken) {
    let known = |state, wire| tell.send_replace(Known { state, wire });
    let ends = async {
        let mut search: Option<Search> = None;
        loop {
            let Some(wire) = tell.borrow().wire.clone() else { return };
            let open = Instant::now();
            let mut error = wire.ended().await;
            // A connection without calls may have got no answer.
            if wire.has_heard() || open.elapsed() > STABLE_AFTER {
                search = None;
            }
            drop(wire);
            let search = search.get_or_insert_with(|| Search::begin(&way.reconnect));
            let wire = loop {
                // Registered before the state changes, so that no notification is missed.
                let wanted = way.wanted.notified();
                let Some(address) = way.address.as_ref().filter(|_| !way.reconnect.is_never()) else {
                    known(State::Down(error), None);
                    return;
                };
                match search.next(&way.reconnect, &error) {
                    Some(delay) => {
                        known(State::Waiting { attempt: search.attempt, delay, error: error.clone() }, None);
                        sleep(delay).await;
                    }
                    None => {
                        known(State::Down(error.clone()), None);
                        wanted.await;
                        *search = Search { attempt: 1, ..Search::begin(&way.reconnect) };
                    }
                }
                known(State::Connecting { attempt: search.attempt }, None);
                let opened = match search.deadline {
                    Some(deadline) => timeout_at(deadline, way.open(address)).await,
                    None => Ok(way.open(address).await),
                };
                match opened {
                    Ok(Ok(wire)) => break wire,
                    Ok(Err(failed)) => error = failed,
                    Err(_) => {} // The error of the last attempt stays.
                }
            };
            known(State::Open, Some(Arc::new(wire)));
        }
    };
    tokio::select! {
        () = over.cancelled() => {}
        () = ends => over.cancelled().await,
    }
    // Watchers of the states keep no connection open.
    known(State::Down(Error::Closed("this client has ended".to_owned())), None);
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    #[tokio::test]
    async fn a_call_between_the_end_of_a_connection_and_its_notice_is_not_told_the_error_of_another() {
        let way = Arc::new(Way {
            address: None,
            reconnect: Reconnect::default(),
            answer: Duration::from_secs(30),
            login: Mutex::default(),
            wanted: Notify::new(),
        });
        let (tell, known) = watch::channel(Known { state: State::Open, wire: None });
        let link = ConnectionManager { way: Arc::clone(&way), known, _ends_with_this: CancellationToken::new().drop_guard() };
        let wanted = way.wanted.notified();
        let mut finding = Box::pin(link.wire(true));
        assert!((&mut finding).now_or_never().is_none());
        let too_large = Error::AnswerTooLarge { size: 2, limit: 1 };
        tell.send_replace(Known { state: State::Down(too_large), wire: None });
        let found = (&mut finding).now_or_never();
        assert!(found.is_none(), "{:?}", found.map(|found| found.map(|_| ())));
        assert!(wanted.now_or_never().is_some(), "nobody was asked to look for the server");
    }
}
