use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::Either;
use jsonrpsee::server::MethodResponse;
use jsonrpsee::server::middleware::rpc::Request;

use super::{Answer, Error, Rules, refuse};
use crate::method::Kind;
use crate::methods::LONGEST_WAIT;

/// Ends calls that take too long with an error.
pub(crate) struct Deadline<S> {
    inner: S,
    rules: Arc<Rules>,
}

impl<S: Answer> Deadline<S> {
    pub(super) fn new(inner: S, rules: Arc<Rules>) -> Self {
        Self { inner, rules }
    }

    /// Returns the time limit of a call. A task of its own answers a subscription, and has the same deadline.
    fn limit(&self, method: &str) -> Option<Duration> {
        let limit = self.rules.limits.handler_timeout.duration();
        match self.rules.find(method)?.kind {
            Kind::Call => Some(limit),
            Kind::Wait => Some(limit + LONGEST_WAIT),
            Kind::Subscription | Kind::Unsubscription => None,
        }
    }
}

impl<S: Answer> Answer for Deadline<S> {
    fn call<'a>(&self, request: Request<'a>) -> impl Future<Output = MethodResponse> + Send + use<'a, S> {
        let Some(limit) = self.limit(&request.method) else { return Either::Left(self.inner.call(request)) };
        let id = request.id();
        let answer = tokio::time::timeout(limit, self.inner.call(request));
        Either::Right(async move { answer.await.unwrap_or_else(|_| refuse(id, Error::Deadline(limit))) })
    }
}
