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

/// How a client comes back after its connection has ended.
///
/// Between attempts it waits for a random part of a limit that doubles, so that clients of a server that was away do not all come at once. The
/// server has to have answered something before a lost connection counts as a new one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reconnect {
    /// How long it looks for the server: not at all if this is zero, for ever if it is [`Duration::MAX`].
    pub patience: Duration,
    /// The most that it waits before the first attempt.
    pub shortest: Duration,
    /// The most that it waits before any.
    pub longest: Duration,
}

impl Reconnect {
    /// A client whose connection does not come back.
    pub const NEVER: Self = Self::within(Duration::ZERO);

    /// Looks for the server for so long.
    pub const fn within(patience: Duration) -> Self {
        Self { patience, shortest: Duration::from_millis(250), longest: Duration::from_secs(10) }
    }

    pub(super) const fn is_never(&self) -> bool {
        self.patience.is_zero()
    }

    /// How long to wait after so many failures in a row.
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

/// What is known of the connection of a client.
#[derive(Debug, Clone)]
pub enum State {
    /// It is open, as far as this side knows.
    Open,
    /// It was lost, or could not be opened again. The next attempt comes after `delay`.
    Waiting {
        /// Which attempt that is, from 1.
        attempt: u32,
        /// How long it is waited for.
        delay: Duration,
        /// What became of the connection, or of the attempt before.
        error: Error,
    },
    /// It is being opened again.
    Connecting {
        /// Which attempt this is, from 1.
        attempt: u32,
    },
    /// Nobody looks for the server. Unless the client is never to come back, the next call does.
    Down(Error),
}

/// The same, with the connection.
#[derive(Clone)]
struct Known {
    state: State,
    wire: Option<Arc<Wire>>,
}

/// What is needed to open a connection.
pub(super) struct Way {
    /// Nothing for a connection that somebody else has opened.
    pub(super) address: Option<Address>,
    pub(super) reconnect: Reconnect,
    /// Who logs in on each connection.
    login: Mutex<Option<PrivateKey>>,
    /// Has a server that was given up be looked for.
    wanted: Notify,
}

/// The connection of a client, which comes back.
pub(super) struct Link {
    pub(super) way: Arc<Way>,
    known: watch::Receiver<Known>,
    _ends_with_this: DropGuard,
}

impl Link {
    /// Looks after a connection that is open.
    pub(super) fn of(wire: Wire, address: Option<Address>, reconnect: Reconnect) -> Self {
        let way = Arc::new(Way { address, reconnect, login: Mutex::default(), wanted: Notify::new() });
        let (tell, known) = watch::channel(Known { state: State::Open, wire: Some(Arc::new(wire)) });
        let over = CancellationToken::new();
        tokio::spawn(keep(Arc::clone(&way), tell, over.clone()));
        Self { way, known, _ends_with_this: over.drop_guard() }
    }

    /// The connection, when it is open. With `wants`, a server that was given up before is looked for again.
    pub(super) async fn wire(&self, mut wants: bool) -> Result<Arc<Wire>, Error> {
        let mut known = self.known.clone();
        // Nobody looks for the server of a client that is never to come back.
        wants &= !self.way.reconnect.is_never();
        loop {
            match &*known.borrow_and_update() {
                Known { wire: Some(wire), .. } if wire.is_connected() => return Ok(Arc::clone(wire)),
                Known { state: State::Down(_), .. } if std::mem::take(&mut wants) => self.way.wanted.notify_waiters(),
                Known { state: State::Down(error), .. } => return Err(error.clone()),
                // It is being looked for: another search would make the patience twice what it is.
                _ => wants = false,
            }
            // Who tells of it lives as long as this.
            known.changed().await.map_err(|_| Error::Closed("this client has ended".to_owned()))?;
        }
    }

    pub(super) fn is_connected(&self) -> bool {
        self.known.borrow().wire.as_ref().is_some_and(|wire| wire.is_connected())
    }

    /// Has whoever has this key log in on each connection that comes.
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
            login::log_in(&wire, address.host(), &key).await?;
        }
        Ok(wire)
    }
}

/// A connection that was open for so long counts as one to a server, whatever was heard.
const LASTING: Duration = Duration::from_secs(10);

/// How a server is looked for since it was heard last.
struct Search {
    attempt: u32,
    /// When to give up; nothing if never.
    deadline: Option<Instant>,
}

impl Search {
    fn begin(reconnect: &Reconnect) -> Self {
        Self { attempt: 0, deadline: Instant::now().checked_add(reconnect.patience) }
    }

    /// The next attempt that comes after this error, and how long to wait for it; nothing if there is none.
    fn next(&mut self, reconnect: &Reconnect, error: &Error) -> Option<Duration> {
        let left = self.deadline.map_or(Duration::MAX, |deadline| deadline.saturating_duration_since(Instant::now()));
        if left.is_zero() || !error.may_pass() {
            return None;
        }
        self.attempt += 1;
        Some(reconnect.delay(self.attempt).min(left))
    }
}

/// Has a connection come back as often as it ends, until `over`.
async fn keep(way: Arc<Way>, tell: watch::Sender<Known>, over: CancellationToken) {
    let known = |state, wire| tell.send_replace(Known { state, wire });
    let ends = async {
        let mut search: Option<Search> = None;
        loop {
            let Some(wire) = tell.borrow().wire.clone() else { return };
            let open = Instant::now();
            let mut error = wire.ended().await;
            // One that nobody called may have heard nothing.
            if wire.has_heard() || open.elapsed() > LASTING {
                search = None;
            }
            drop(wire);
            let search = search.get_or_insert_with(|| Search::begin(&way.reconnect));
            let wire = loop {
                // Before it is told, so that nobody who sees it calls in vain.
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
                    Err(_) => {} // What is known of it is why it was tried.
                }
            };
            known(State::Open, Some(Arc::new(wire)));
        }
    };
    tokio::select! {
        () = over.cancelled() => {}
        () = ends => over.cancelled().await,
    }
    // Whoever watches the states keeps no connection open.
    known(State::Down(Error::Closed("this client has ended".to_owned())), None);
}
