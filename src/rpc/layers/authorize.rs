use std::future::{Future, ready};
use std::sync::Arc;

use futures_util::future::Either;
use jsonrpsee::server::MethodResponse;
use jsonrpsee::server::middleware::rpc::Request;

use super::{Answer, Error, Rules, refuse};
use crate::rpc::act;
use crate::rpc::auth::Session;

/// Refuses calls that need an identity of sessions that have none, or whose token has ended. What an identity may do is decided where it is known what
/// a call concerns: by the [`Guard`](crate::rpc::guard::Guard).
pub(in crate::rpc) struct Authorize<S> {
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
        match self.check(&request) {
            Err(error) => Either::Left(ready(refuse(request.id, error))),
            Ok(()) => Either::Right(self.inner.call(request)),
        }
    }
}
