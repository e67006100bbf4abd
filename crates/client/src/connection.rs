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

use super::address::{self, Address, HEARTBEAT};
use super::error::Error;
use super::reconnect::{Link, Reconnect, State};
use super::trust::Trust;
use super::wire::{ANSWER, Params, Wire};
use hero_model::PrivateKey;
use hero_model::api::Repeatable;

/// How often in a row a call is sent to a server that ends the connection soon after.
pub(super) const MOST_LOST: u32 = 4;
/// So soon.
const SOON: Duration = Duration::from_secs(30);

/// A server, at which calls are made and subscriptions opened.
#[derive(Clone)]
pub struct Client {
    pub(super) link: Arc<Link>,
}

/// How a client connects.
#[derive(Clone)]
pub struct Options {
    /// What it shows to the server, so that it knows who calls.
    pub token: Option<String>,
    /// By whose word it knows a `wss://` server.
    pub trust: Trust,
    /// How it comes back after its connection has ended.
    pub reconnect: Reconnect,
    /// The silence after which the server is asked whether it is there; one that does not say so within as long again is away. 20 s by default.
    pub heartbeat: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self { token: None, trust: Trust::default(), reconnect: Reconnect::default(), heartbeat: HEARTBEAT }
    }
}

impl Client {
    /// Connects to `url` (`ws://host:port`, `wss://…`, or `unix:///path` for the socket of an operator; `http://…` and `host:port` mean the same), with a bearer token if there is one.
    ///
    /// A server that is not there is an error at once. Dropping the last clone closes the connection and ends its subscriptions.
    pub async fn connect(url: &str, token: Option<&str>) -> Result<Self, Error> {
        Self::connect_with(url, Options { token: token.map(str::to_owned), ..Options::default() }).await
    }

    /// The same, as `options` say.
    pub async fn connect_with(url: &str, options: Options) -> Result<Self, Error> {
        let Options { token, trust, reconnect, heartbeat } = options;
        let address = Address::new(url, token.as_deref(), trust, heartbeat)?;
        let wire = address.open().await?;
        Ok(Self { link: Arc::new(Link::of(wire, Some(address), reconnect)) })
    }

    /// A client on a connection to a server that is open already. It does not come back.
    #[doc(hidden)]
    pub async fn on(stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static) -> Result<Self, Error> {
        Ok(Self { link: Arc::new(Link::of(address::on(stream).await?, None, Reconnect::NEVER)) })
    }

    /// Calls `method`; `params` is serialised to an object (or an array) of parameters.
    ///
    /// When the connection is lost before the answer comes, the call is made again if its definition (`x-repeatable`) and an `idempotency_key`
    /// among the parameters allow that; else this is [`Error::Unknown`]. If the future is dropped, the answer is lost, but the call may still be
    /// executed.
    pub async fn call<R: DeserializeOwned>(&self, method: &str, params: impl Serialize) -> Result<R, Error> {
        self.call_within(ANSWER, method, params).await
    }

    /// Like [`Client::call`], for a call that the server answers only after a while. Each time it is sent, it may take so long.
    pub async fn call_within<R: DeserializeOwned>(&self, limit: Duration, method: &str, params: impl Serialize) -> Result<R, Error> {
        self.send(method, None, || Ok((Params::of(method, &params)?, limit))).await
    }

    /// Like [`Client::call`], for a call for which the server waits up to `wait`: `params` is given how many seconds of that are left. A server
    /// that is away is looked for no longer than that ([`Error::WaitedOut`]).
    pub async fn call_waiting<R: DeserializeOwned, P: Serialize>(
        &self,
        wait: Duration,
        method: &str,
        params: impl Fn(f64) -> P,
    ) -> Result<R, Error> {
        let begun = Instant::now();
        let request = || {
            let left = wait.saturating_sub(begun.elapsed());
            Ok((Params::of(method, params(left.as_secs_f64()))?, left.saturating_add(ANSWER)))
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
            match attempts.wire.check_size(method, &params).await {
                Ok(()) => match attempts.wire.call(method, params, limit).await {
                    Err(lost @ Error::Closed(_)) => attempts.again(lost, may_be_repeated(method, &request()?.0)).await?,
                    answer => return answer,
                },
                Err(lost @ Error::Closed(_)) => attempts.again(lost, true).await?,
                Err(error) => return Err(error),
            }
        }
    }

    /// Opens the subscription `subscribe_{topic}`, on the connection that this gives with it. [`super::Follow`] is the reader that survives gaps.
    #[doc(hidden)]
    pub async fn subscribe<T: DeserializeOwned>(&self, topic: &str, params: impl Serialize) -> Result<(Subscription<T>, Arc<Wire>), Error> {
        let mut attempts = Attempts::begin(self, topic, None).await?;
        loop {
            match attempts.wire.subscribe(topic, Params::of(topic, &params)?).await {
                Err(lost @ Error::Closed(_)) => attempts.again(lost, true).await?,
                answer => return answer.map(|items| (items, attempts.wire)),
            }
        }
    }

    /// Whether the connection is open, as far as this side knows.
    pub fn is_connected(&self) -> bool {
        self.link.is_connected()
    }

    /// Whether the connection has ended and does not come back.
    #[doc(hidden)]
    pub fn is_over(&self) -> bool {
        self.link.way.reconnect.is_never() && !self.is_connected()
    }

    /// What becomes of the connection: first how it is now, then each change. Of changes that follow each other fast, only the last may be seen.
    pub fn states(&self) -> impl Stream<Item = State> + Send + Unpin + use<> {
        self.link.states()
    }

    /// The key that makes a call one that may be made again, if the caller has given none.
    pub(super) fn key(&self, given: Option<&String>) -> Option<String> {
        // Nothing is sent again by a client that does not come back.
        (given.is_none() && !self.link.way.reconnect.is_never()).then(|| uuid::Uuid::new_v4().to_string())
    }

    /// Who logs in on each connection that comes.
    pub(super) fn stay_logged_in(&self, key: &PrivateKey) {
        self.link.log_in_with(key);
    }
}

/// A call that may have to be made several times.
struct Attempts<'a> {
    client: &'a Client,
    method: &'a str,
    /// How long its caller waits, if that is limited, and until when.
    wait: Option<(Duration, Instant)>,
    wire: Arc<Wire>,
    sent: Instant,
    lost: u32,
}

impl<'a> Attempts<'a> {
    async fn begin(client: &'a Client, method: &'a str, wait: Option<Duration>) -> Result<Self, Error> {
        let wait = wait.and_then(|wait| Some((wait, Instant::now().checked_add(wait)?)));
        let wire = Self::found(client, true, wait).await?;
        Ok(Self { client, method, wait, wire, sent: Instant::now(), lost: 0 })
    }

    /// The connection, when it is open.
    async fn found(client: &Client, wants: bool, wait: Option<(Duration, Instant)>) -> Result<Arc<Wire>, Error> {
        let finding = client.link.wire(wants);
        match wait {
            Some((wait, until)) => timeout_at(until, finding).await.unwrap_or(Err(Error::WaitedOut { after: wait })),
            None => finding.await,
        }
    }

    /// Waits until it can be made again, if it may be.
    async fn again(&mut self, lost: Error, may: bool) -> Result<(), Error> {
        if !may {
            let Error::Closed(why) = lost else { return Err(lost) };
            return Err(Error::Unknown { method: self.method.to_owned(), why });
        }
        self.lost = if self.sent.elapsed() < SOON { self.lost + 1 } else { 1 };
        if self.lost == MOST_LOST || self.client.link.way.reconnect.is_never() {
            return Err(lost);
        }
        self.wire = Self::found(self.client, false, self.wait).await?;
        self.sent = Instant::now();
        Ok(())
    }
}

/// Whether a call may be sent that may have been executed.
fn may_be_repeated(method: &str, params: &Params) -> bool {
    /// By name. What stands in an array says by its place what it is, which the document knows and nobody here.
    type Named<'p> = BTreeMap<String, &'p RawValue>;
    let has_key = |named: &Named<'_>| named.get("idempotency_key").is_some_and(|key| key.get() != "null");
    match Repeatable::of(method) {
        Repeatable::Always => true,
        Repeatable::Never => false,
        Repeatable::WithKey => serde_json::from_str::<Named<'_>>(params.text()).is_ok_and(|named| {
            let jobs = named.get("jobs").map(|jobs| serde_json::from_str::<Vec<Named<'_>>>(jobs.get()));
            has_key(&named) || matches!(jobs, Some(Ok(jobs)) if jobs.iter().all(has_key))
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn a_create_is_sent_again_only_where_a_key_stands_by_its_name() {
        let may = |method: &str, params: Value| may_be_repeated(method, &Params::of(method, params).unwrap());
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
