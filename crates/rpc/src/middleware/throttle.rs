use std::future::{Future, ready};
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::Either;
use jsonrpsee::server::MethodResponse;
use jsonrpsee::server::middleware::rpc::Request;

use super::{Answer, Error, Rules, refuse};
use crate::connection::addresses::Permit;
use crate::jsonrpc::entry::Notified;
use crate::limits::Limits;
use crate::session::access::Access;
use crate::session::auth::{AddressCalls, AddressWaiting, Session, SessionCalls};

/// Refuses calls above the limits of their connection or address.
pub(crate) struct Throttle<S> {
    inner: Arc<S>,
    rules: Arc<Rules>,
}

/// The most notifications of one address that wait for permits, even if their senders have disconnected. Further ones are dropped.
const MAX_WAITING_NOTIFICATIONS: u32 = 1024;

/// The permits of a call that is being answered. The call counts as long as they live.
type Permits = (Permit<SessionCalls>, Permit<AddressCalls>);

impl<S: Answer> Throttle<S> {
    pub(super) fn new(inner: S, rules: Arc<Rules>) -> Self {
        Self { inner: Arc::new(inner), rules }
    }

    fn take_permits(&self, session: &Arc<Session>) -> Result<Permits, Error> {
        let limits = &self.rules.limits;
        let here = Permit::take(SessionCalls(Arc::clone(session)), limits.calls_per_connection);
        let here = here.ok_or_else(|| busy(limits.calls_per_connection, "calls at once on this connection (calls_in_flight)"))?;
        let there = Permit::take(AddressCalls(Arc::clone(session)), limits.calls_per_address);
        Ok((here, there.ok_or_else(|| busy(limits.calls_per_address, "calls at once from your address (a fixed limit)"))?))
    }

    /// Waits for the permits of a notification, because its sender cannot be told to try again.
    fn wait(&self, session: &Arc<Session>) -> impl Future<Output = Result<Permits, Error>> + Send + use<S> {
        let (session, rules) = (Arc::clone(session), Arc::clone(&self.rules));
        async move {
            let limits = &rules.limits;
            let waiting = Permit::take(AddressWaiting(Arc::clone(&session)), MAX_WAITING_NOTIFICATIONS);
            let _waiting = waiting
                .ok_or_else(|| busy(MAX_WAITING_NOTIFICATIONS, "notifications from your address wait for their turn (a fixed limit)"))?;
            let permits = async {
                let here = Permit::wait(SessionCalls(Arc::clone(&session)), limits.calls_per_connection).await;
                (here, Permit::wait(AddressCalls(Arc::clone(&session)), limits.calls_per_address).await)
            };
            let most = limits.calls_per_connection;
            let permits = tokio::time::timeout(limits.handler_timeout.duration(), permits).await;
            permits.map_err(|_| busy(most, "calls at once on this connection (calls_in_flight)"))
        }
    }
}

/// Refuses calls of a session above its rate.
pub(crate) fn pass(session: &Session, access: &Access, limits: &Limits) -> Result<(), Error> {
    if access.is_open() && session.peer().ip().to_canonical().is_loopback() {
        return Ok(());
    }
    let most = limits.calls_per_second;
    let passed = session.address().rate.pass(most, Instant::now());
    let what = || format!("more than {most} calls a second from your address (calls_per_second)").into();
    passed.map_err(|retry_after| Error::Busy { what: what(), retry_after })
}

/// Returns the error for more than `most` of something.
fn busy(most: u32, of: &str) -> Error {
    Error::Busy { what: format!("more than {most} {of}").into(), retry_after: Duration::from_millis(100) }
}

impl<S: Answer> Answer for Throttle<S> {
    fn call<'a>(&self, request: Request<'a>) -> impl Future<Output = MethodResponse> + Send + use<'a, S> {
        let session = match request.extensions().get::<Arc<Session>>() {
            Some(session) => session,
            None => return Either::Left(ready(refuse(request.id, Error::Internal))),
        };
        if let Err(error) = pass(session, &self.rules.access, &self.rules.limits) {
            return Either::Left(ready(refuse(request.id, error)));
        }
        match self.take_permits(session) {
            Ok(permits) => {
                let answer = self.inner.call(request);
                Either::Right(Either::Left(async move {
                    let response = answer.await;
                    drop(permits);
                    response
                }))
            }
            Err(_) if request.extensions().get::<Notified>().is_some() => {
                let (permits, inner) = (self.wait(session), Arc::clone(&self.inner));
                Either::Right(Either::Right(async move {
                    match permits.await {
                        Ok(_permits) => inner.call(request).await,
                        Err(error) => refuse(request.id, error),
                    }
                }))
            }
            Err(error) => Either::Left(ready(refuse(request.id, error))),
        }
    }
}
