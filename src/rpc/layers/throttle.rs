use std::future::{Future, ready};
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::Either;
use jsonrpsee::server::MethodResponse;
use jsonrpsee::server::middleware::rpc::Request;

use super::{Answer, Error, Rules, refuse};
use crate::rpc::auth::{Access, AddressCalls, Session, SessionCalls};
use crate::rpc::load::Place;

/// Refuses calls above the limits of their connection or address.
pub(in crate::rpc) struct Throttle<S> {
    inner: S,
    rules: Arc<Rules>,
}

/// A call that is being answered counts as long as this lives.
type Places = (Place<SessionCalls>, Place<AddressCalls>);

impl<S: Answer> Throttle<S> {
    pub(super) fn new(inner: S, rules: Arc<Rules>) -> Self {
        Self { inner, rules }
    }

    fn admit(&self, session: Option<&Arc<Session>>) -> Result<Places, Error> {
        let session = session.ok_or(Error::Internal)?;
        let limits = &self.rules.limits;
        let at_home = self.rules.access == Access::Open && session.peer().ip().to_canonical().is_loopback();
        if !at_home {
            let passed = session.address().rate.pass(limits.calls_per_second, Instant::now());
            passed.map_err(|retry_after| Error::Busy { what: "too many calls a second", retry_after })?;
        }
        let busy = |what| Error::Busy { what, retry_after: Duration::from_millis(100) };
        let here = Place::take(SessionCalls(Arc::clone(session)), limits.calls_per_connection);
        let here = here.ok_or_else(|| busy("too many calls at once on this connection"))?;
        let there = Place::take(AddressCalls(Arc::clone(session)), limits.calls_per_address);
        Ok((here, there.ok_or_else(|| busy("too many calls at once from your address"))?))
    }
}

impl<S: Answer> Answer for Throttle<S> {
    fn call<'a>(&self, request: Request<'a>) -> impl Future<Output = MethodResponse> + Send + use<'a, S> {
        match self.admit(request.extensions().get::<Arc<Session>>()) {
            Err(error) => Either::Left(ready(refuse(request.id, error))),
            Ok(places) => {
                let answer = self.inner.call(request);
                Either::Right(async move {
                    let response = answer.await;
                    drop(places);
                    response
                })
            }
        }
    }
}
