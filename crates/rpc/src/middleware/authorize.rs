use std::future::{Future, ready};
use std::sync::Arc;

use futures_util::future::Either;
use jsonrpsee::server::MethodResponse;
use jsonrpsee::server::middleware::rpc::Request;

use super::{Answer, Error, Rules, refuse};
use crate::jsonrpc::entry::{LoggedOut, Notified, OverHttp, PendingAnswer};
use crate::method::Kind;
use crate::session::act;
use crate::session::auth::{Principal, Session};
use hero_access as access;

/// Refuses calls that need an identity if the session has none, or if its token has ended, even while they are being answered: a WebSocket
/// is closed then, and a waiting call over HTTP gets the error. An allowed call that is being executed is answered even if the token ends
/// meanwhile, for example by that very call. The [`Guard`](crate::session::guard::Guard), which knows the concern of a call, decides what an
/// identity may do.
pub(crate) struct Authorize<S> {
    inner: S,
    rules: Arc<Rules>,
}

impl<S: Answer> Authorize<S> {
    pub(super) fn new(inner: S, rules: Arc<Rules>) -> Self {
        Self { inner, rules }
    }

    fn check(&self, request: &Request<'_>) -> Result<(), Error> {
        let session = request.extensions().get::<Arc<Session>>().ok_or(Error::Internal)?;
        let entry = self.rules.find(&request.method).ok_or_else(|| Error::NoMethod(request.method.chars().take(64).collect()))?;
        let checked = self.rules.access.check(&session.principal(), entry.permission);
        checked.inspect_err(|error| {
            let name = self.rules.name(&request.method).unwrap_or_default();
            act::refused((&self.rules.access, &self.rules.audit), session, name, None, error);
        })
    }
}

impl<S: Answer> Answer for Authorize<S> {
    fn call<'a>(&self, request: Request<'a>) -> impl Future<Output = MethodResponse> + Send + use<'a, S> {
        if let Err(error) = self.check(&request) {
            return Either::Left(ready(refuse(request.id, error)));
        }
        let (extensions, id) = (request.extensions(), request.id());
        let session = extensions.get::<Arc<Session>>().filter(|session| matches!(session.principal(), Principal::Identity(_)));
        let waits = self.rules.find(&request.method).is_some_and(|entry| entry.kind != Kind::Call);
        if let Some(heard) = extensions.get::<Arc<PendingAnswer>>().filter(|_| waits) {
            heard.waits();
        }
        let may_end = waits && extensions.get::<OverHttp>().is_some() && extensions.get::<Notified>().is_none();
        let session = session.filter(|_| may_end).map(Arc::clone);
        let answer = self.inner.call(request);
        let Some(session) = session else { return Either::Right(Either::Left(answer)) };
        Either::Right(Either::Right(async move {
            tokio::select! {
                biased;
                response = answer => response,
                () = session.logged_out() => {
                    let mut refusal = refuse(id, access::Error::LoggedOut.into());
                    refusal.extensions_mut().insert(LoggedOut);
                    refusal
                }
            }
        }))
    }
}
