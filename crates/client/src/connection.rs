use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::Stream;
use jsonrpsee::core::client::Subscription;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::{Instant, timeout_at};

use super::address::{self, Address, HEARTBEAT_INTERVAL};
use super::calls::Call;
use super::error::Error;
use super::reconnect::{ConnectionManager, Reconnect, State};
use super::trust::Trust;
use super::wire::{ANSWER_TIMEOUT, Params, Wire};
use hero_model::api::Repeatable;
use hero_model::{PrivateKey, Seconds};

/// Maximum number of times in a row that a call is sent to a server that ends the connection soon after.
pub(super) const MOST_LOST: u32 = 4;
/// A connection that ends within this time ended soon.
const SHORT_CONNECTION: Duration = Duration::from_secs(30);

/// A client of a server, for calls and subscriptions.
#[derive(Clone)]
pub struct Client {
    pub(super) link: Arc<ConnectionManager>,
}

/// The options of a connection.
#[derive(Clone)]
pub struct Options {
    /// The token that identifies the caller to the server.
    pub token: Option<String>,
    /// The authorities that the client trusts to certify a `wss://` server.
    pub trust: Trust,
    /// How the client reconnects after its connection has ended.
    pub reconnect: Reconnect,
    /// The silence after which the client pings the server. If no answer comes within the same time, the server counts
    /// as away. 20 s by default.
    pub heartbeat: Duration,
    /// How long the answer to a call is waited for that the server gives at once, or behind the wait that it was asked for. 30 s by default. A
    /// connection is opened within that time, too, and within 10 s at most.
    pub answer: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            token: None,
            trust: Trust::default(),
            reconnect: Reconnect::default(),
            heartbeat: HEARTBEAT_INTERVAL,
            answer: ANSWER_TIMEOUT,
        }
    }
}

impl Client {
    /// Connects to `url` (`ws://host:port`, `wss://…`, or `unix:///path` for the socket of an operator; `http://…` and
    /// `host:port` mean the same), with a bearer token if there is one.
    ///
    /// Fails at once if the server is not there. Dropping the last clone closes the connection and ends its
    /// subscriptions.
    pub async fn connect(url: &str, token: Option<&str>) -> Result<Self, Error> {
        Self::connect_with(url, Options { token: token.map(str::to_owned), ..Options::default() }).await
    }

    /// Connects with options.
    pub async fn connect_with(url: &str, options: Options) -> Result<Self, Error> {
        let Options { token, trust, reconnect, heartbeat, answer } = options;
        let address = Address::new(url, token.as_deref(), trust, heartbeat, answer)?;
        let wire = address.open().await?;
        Ok(Self { link: Arc::new(ConnectionManager::of(wire, Some(address), reconnect, answer)) })
    }

    /// Creates a client on an open connection to a server. It does not reconnect.
    #[doc(hidden)]
    pub async fn on(stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static) -> Result<Self, Error> {
        Ok(Self { link: Arc::new(ConnectionManager::of(address::on(stream).await?, None, Reconnect::NEVER, ANSWER_TIMEOUT)) })
    }

    /// Makes a call of [`super::calls`].
    ///
    /// If the connection is lost before the answer comes, the call is made again if its definition (`x-repeatable`) and
    /// an `idempotency_key` among the parameters allow that; otherwise this fails with [`Error::Unknown`], and also if a
    /// call with a key is refused when it is made again, or if what comes in place of the answer cannot be read. If the
    /// future is dropped, the answer is lost, but the call may still be executed.
    pub async fn call<C: Call>(&self, call: &C) -> Result<C::Output, Error> {
        self.call_named(C::NAME, call).await
    }

    /// Like [`Client::call`], for a call for which the server waits up to `wait`. `call` gets the remaining time. The
    /// client also stops looking for a server that is away after that time ([`Error::WaitedOut`], and of a call that was
    /// sent and creates something [`Error::Unknown`]).
    pub async fn call_waiting<C: Call>(&self, wait: Duration, call: impl Fn(Seconds) -> C) -> Result<C::Output, Error> {
        self.call_named_waiting(wait, C::NAME, call).await
    }

    /// Like [`Client::call`], for a method that only its name identifies. `params` is serialised to an object (or an
    /// array) of parameters.
    pub async fn call_named<R: DeserializeOwned>(&self, method: &str, params: impl Serialize) -> Result<R, Error> {
        self.call_named_within(self.link.way.answer, method, params).await
    }

    /// Like [`Client::call_named`], for a call that the server answers only after a while. `limit` is the timeout each
    /// time that it is sent.
    pub async fn call_named_within<R: DeserializeOwned>(&self, limit: Duration, method: &str, params: impl Serialize) -> Result<R, Error> {
        self.send(method, None, || Ok((Params::of(method, &params)?, limit))).await
    }

    /// Like [`Client::call_waiting`], for a method that only its name identifies.
    pub async fn call_named_waiting<R: DeserializeOwned, P: Serialize>(
        &self,
        wait: Duration,
        method: &str,
        params: impl Fn(Seconds) -> P,
    ) -> Result<R, Error> {
        let begun = Instant::now();
        let request = || {
            let left = wait.saturating_sub(begun.elapsed());
            Ok((Params::of(method, params(left.into()))?, left.saturating_add(self.link.way.answer)))
        };
        self.send(method, Some(wait), request).await
    }

    async fn send<R: DeserializeOwned>(
        &self,
        method: &str,
        wait: Option<Duration>,
        request: impl Fn() -> Result<(Params, Duration), Error>,
    ) -> Result<R, Error> {
        let mut attempts = Attempts::begin(self, method, wait).await?;
        loop {
            let (params, limit) = request()?;
            match attempts.wire.check_size(method, &params, self.link.way.answer).await {
                Ok(()) => match attempts.wire.call(method, params, limit).await {
                    Ok(answer) => return Ok(answer),
                    Err(lost @ Error::Closed(_)) => attempts.again(lost, Repeat::of(method, &request()?.0)).await?,
                    Err(error @ (Error::Timeout { .. } | Error::LoggedOut { .. } | Error::Foreign(_) | Error::AnswerTooLarge { .. })) => {
                        return Err(attempts.unanswered(error, Repeat::of(method, &request()?.0)));
                    }
                    Err(error) => return Err(attempts.refused(error)),
                },
                Err(lost @ Error::Closed(_)) => attempts.again(lost, Repeat::Always).await?,
                Err(error) => return Err(attempts.refused(error)),
            }
        }
    }

    /// Opens the subscription `subscribe_{topic}`, and returns it with its connection. [`super::Follow`] is the reader
    /// that survives lost connections.
    #[doc(hidden)]
    pub async fn subscribe<T: DeserializeOwned>(&self, topic: &str, params: impl Serialize) -> Result<(Subscription<T>, Arc<Wire>), Error> {
        let mut attempts = Attempts::begin(self, topic, None).await?;
        loop {
            match attempts.wire.subscribe(topic, Params::of(topic, &params)?, self.link.way.answer).await {
                Err(lost @ Error::Closed(_)) => attempts.again(lost, Repeat::Always).await?,
                answer => return answer.map(|items| (items, attempts.wire)),
            }
        }
    }

    /// True if the connection is open, as far as this side knows.
    pub fn is_connected(&self) -> bool {
        self.link.is_connected()
    }

    /// True if the connection has ended and does not come back.
    #[doc(hidden)]
    pub fn is_over(&self) -> bool {
        self.link.way.reconnect.is_never() && !self.is_connected()
    }

    /// Returns the state of the connection: first the current one, then each change. Of several quick changes, only the
    /// last may be seen.
    pub fn states(&self) -> impl Stream<Item = State> + Send + Unpin + use<> {
        self.link.states()
    }

    /// Adds an idempotency key that allows repeating a call, if the caller has given none.
    pub(super) fn keyed<'a, T: Clone>(&self, spec: &'a T, key: impl Fn(&mut T) -> &mut Option<String>) -> Cow<'a, T> {
        // A client that does not reconnect repeats nothing.
        if self.link.way.reconnect.is_never() {
            return Cow::Borrowed(spec);
        }
        let mut keyed = spec.clone();
        key(&mut keyed).get_or_insert_with(|| uuid::Uuid::new_v4().to_string());
        Cow::Owned(keyed)
    }

    /// Makes the client log in with this key on each new connection.
    pub(super) fn stay_logged_in(&self, key: &PrivateKey) {
        self.link.log_in_with(key);
    }
}

/// A call that may have to be sent several times.
struct Attempts<'a> {
    client: &'a Client,
    method: &'a str,
    /// The maximum wait of its caller, if it is limited, and the time at which it ends.
    wait: Option<(Duration, Instant)>,
    wire: Arc<Wire>,
    sent: Instant,
    lost: u32,
    /// The idempotency keys that it was sent with, if it may have been executed without an answer.
    keys: Vec<String>,
}

impl<'a> Attempts<'a> {
    async fn begin(client: &'a Client, method: &'a str, wait: Option<Duration>) -> Result<Self, Error> {
        let wait = wait.and_then(|wait| Some((wait, Instant::now().checked_add(wait)?)));
        let wire = Self::found(client, true, wait).await?;
        Ok(Self { client, method, wait, wire, sent: Instant::now(), lost: 0, keys: Vec::new() })
    }

    /// Returns the connection when it is open.
    async fn found(client: &Client, wants: bool, wait: Option<(Duration, Instant)>) -> Result<Arc<Wire>, Error> {
        let finding = client.link.wire(wants);
        match wait {
            Some((wait, until)) => timeout_at(until, finding).await.unwrap_or(Err(Error::WaitedOut { after: wait })),
            None => finding.await,
        }
    }

    /// Waits until the call can be sent again, if it may be.
    async fn again(&mut self, lost: Error, repeat: Repeat) -> Result<(), Error> {
        match repeat {
            Repeat::Always => {}
            Repeat::Never => return Err(self.unknown(lost)),
            Repeat::Keyed(keys) => self.keys = keys,
        }
        self.lost = if self.sent.elapsed() < SHORT_CONNECTION { self.lost + 1 } else { 1 };
        if self.lost == MOST_LOST || self.client.link.way.reconnect.is_never() {
            return Err(self.given_up(lost));
        }
        self.wire = Self::found(self.client, false, self.wait).await.map_err(|error| self.given_up(error))?;
        self.sent = Instant::now();
        Ok(())
    }

    /// Returns the error of a call that is not sent again, because the connection did not come back.
    fn given_up(&self, error: Error) -> Error {
        if self.keys.is_empty() { error } else { self.unknown(error) }
    }

    /// Returns the error of a call that was sent and has no answer, or none that can be read, with the keys that it was
    /// sent with.
    fn unanswered(&mut self, mut error: Error, repeat: Repeat) -> Error {
        match repeat {
            Repeat::Always => return error,
            Repeat::Keyed(keys) => self.keys = keys,
            Repeat::Never => {}
        }
        match &mut error {
            Error::Timeout { keys, .. } => keys.clone_from(&self.keys),
            Error::LoggedOut { method, keys, .. } => {
                *method = Some(self.method.to_owned());
                keys.clone_from(&self.keys);
            }
            _ => return self.unknown(error),
        }
        error
    }

    /// Returns the error of a call that was refused. Of a call that was lost before, that says nothing, unless it is about
    /// what the call created.
    fn refused(&self, error: Error) -> Error {
        let is_known = self.keys.is_empty() || error.is_final() || matches!(error, Error::Shape { .. });
        if is_known { error } else { self.unknown(error) }
    }

    fn unknown(&self, lost: Error) -> Error {
        let why = if let Error::Closed(why) = lost { why } else { lost.to_string() };
        Error::Unknown { method: self.method.to_owned(), why, keys: self.keys.clone() }
    }
}

/// Whether a call may be sent again although it may have been executed.
#[derive(Debug, PartialEq, Eq)]
enum Repeat {
    /// It changes nothing, or the same twice, or was not sent.
    Always,
    /// The server executes it once for these idempotency keys.
    Keyed(Vec<String>),
    Never,
}

impl Repeat {
    fn of(method: &str, params: &Params) -> Self {
        /// By name. In an array the position identifies a parameter, and only the document of methods knows it.
        type ByName<'p> = BTreeMap<String, &'p RawValue>;
        let key = |named: &ByName<'_>| serde_json::from_str::<Option<String>>(named.get("idempotency_key")?.get()).ok()?;
        let keys = || {
            let named = serde_json::from_str::<ByName<'_>>(params.text()).ok()?;
            key(&named).map(|key| vec![key]).or_else(|| {
                let jobs = serde_json::from_str::<Vec<ByName<'_>>>(named.get("jobs")?.get()).ok()?;
                jobs.iter().map(key).collect()
            })
        };
        match Repeatable::of(method) {
            Repeatable::Always => Self::Always,
            Repeatable::Never => Self::Never,
            Repeatable::WithKey => keys().map_or(Self::Never, Self::Keyed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn a_create_is_sent_again_only_where_a_key_stands_by_its_name() {
        let may = |method: &str, params: Value| Repeat::of(method, &Params::of(method, params).unwrap()) != Repeat::Never;
        for params in [
            json!({"script": "1", "idempotency_key": "k"}),
            json!({"jobs": [{"script": "1", "idempotency_key": "a"}, {"script": "2", "idempotency_key": "b"}]}),
        ] {
            assert!(may("create_jobs", params));
        }
        for params in [
            json!({"script": "1"}),
            json!({"script": "1", "idempotency_key": null}),
            json!(["1"]),
            json!(["idempotency_key", "k"]),
            json!([[{"script": "1", "idempotency_key": "a"}]]),
            json!({"jobs": [["1"]]}),
            json!({"jobs": [{"script": "1", "idempotency_key": "a"}, {"script": "2"}]}),
            json!({"jobs": {}}),
        ] {
            assert!(
                !may("create_job", params.clone()) && !may("run_and_wait", params.clone()) && !may("create_jobs", params.clone()),
                "{params}"
            );
        }
    }
}
