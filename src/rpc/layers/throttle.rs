use std::future::{Future, ready};
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::Either;
use jsonrpsee::server::MethodResponse;
use jsonrpsee::server::middleware::rpc::Request;

use super::{Answer, Error, Rules, refuse};
use crate::rpc::auth::{Access, AddressCalls, AddressWaiting, Session, SessionCalls};
use crate::rpc::entry::Notified;
use crate::rpc::load::Place;

/// Refuses calls above the limits of their connection or address.
pub(in crate::rpc) struct Throttle<S> {
    inner: Arc<S>,
    rules: Arc<Rules>,
}

/// So many notifications of one address wait for a place, whether or not their senders are still there; more are dropped.
const WAITING: u32 = 1024;

/// A call that is being answered counts as long as this lives.
type Places = (Place<SessionCalls>, Place<AddressCalls>);

impl<S: Answer> Throttle<S> {
    pub(super) fn new(inner: S, rules: Arc<Rules>) -> Self {
        Self { inner: Arc::new(inner), rules }
    }

    /// Lets the calls of a session pass, as many as may in a second.
    fn pass<'s>(&self, session: Option<&'s Arc<Session>>) -> Result<&'s Arc<Session>, Error> {
        let session = session.ok_or(Error::Internal)?;
        let at_home = self.rules.access == Access::Open && session.peer().ip().to_canonical().is_loopback();
        if !at_home {
            let most = self.rules.limits.calls_per_second;
            let passed = session.address().rate.pass(most, Instant::now());
            let what = || format!("more than {most} calls a second from your address (calls_per_second)").into();
            passed.map_err(|retry_after| Error::Busy { what: what(), retry_after })?;
        }
        Ok(session)
    }

    fn admit(&self, session: &Arc<Session>) -> Result<Places, Error> {
        let limits = &self.rules.limits;
        let here = Place::take(SessionCalls(Arc::clone(session)), limits.calls_per_connection);
        let here = here.ok_or_else(|| busy(limits.calls_per_connection, "calls at once on this connection (calls_in_flight)"))?;
        let there = Place::take(AddressCalls(Arc::clone(session)), limits.calls_per_address);
        Ok((here, there.ok_or_else(|| busy(limits.calls_per_address, "calls at once from your address (a fixed limit)"))?))
    }

    /// Waits for the places of a notification. Who sent it cannot be told to come again.
    fn wait(&self, session: &Arc<Session>) -> impl Future<Output = Result<Places, Error>> + Send + use<S> {
        let (session, rules) = (Arc::clone(session), Arc::clone(&self.rules));
        async move {
            let limits = &rules.limits;
            let waiting = Place::take(AddressWaiting(Arc::clone(&session)), WAITING);
            let _waiting = waiting.ok_or_else(|| busy(WAITING, "notifications from your address wait for their turn (a fixed limit)"))?;
            let places = async {
                let here = Place::wait(SessionCalls(Arc::clone(&session)), limits.calls_per_connection).await;
                (here, Place::wait(AddressCalls(Arc::clone(&session)), limits.calls_per_address).await)
            };
            let most = limits.calls_per_connection;
            let places = tokio::time::timeout(limits.handler_timeout.duration(), places).await;
            places.map_err(|_| busy(most, "calls at once on this connection (calls_in_flight)"))
        }
    }
}

/// There are more of something than may be.
fn busy(most: u32, of: &str) -> Error {
    Error::Busy { what: format!("more than {most} {of}").into(), retry_after: Duration::from_millis(100) }
}

impl<S: Answer> Answer for Throttle<S> {
    fn call<'a>(&self, request: Request<'a>) -> impl Future<Output = MethodResponse> + Send + use<'a, S> {
        let session = match self.pass(request.extensions().get::<Arc<Session>>()) {
            Ok(session) => session,
            Err(error) => return Either::Left(ready(refuse(request.id, error))),
        };
        match self.admit(session) {
            Ok(places) => {
                let answer = self.inner.call(request);
                Either::Right(Either::Left(async move {
                    let response = answer.await;
                    drop(places);
                    response
                }))
            }
            Err(_) if request.extensions().get::<Notified>().is_some() => {
                let (places, inner) = (self.wait(session), Arc::clone(&self.inner));
                Either::Right(Either::Right(async move {
                    match places.await {
                        Ok(_places) => inner.call(request).await,
                        Err(error) => refuse(request.id, error),
                    }
                }))
            }
            Err(error) => Either::Left(ready(refuse(request.id, error))),
        }
    }
}
