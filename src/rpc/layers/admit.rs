use std::future::{Future, ready};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use futures_util::future::Either;
use jsonrpsee::server::MethodResponse;
use jsonrpsee::server::middleware::rpc::Request;

use super::{Answer, Counted, Error, InBatch, Rules, refuse};
use crate::rpc::auth::Session;
use crate::rpc::room::{Account, Size};

/// Lets calls wait until there is room for their answers, and counts the answers.
pub(in crate::rpc) struct Admit<S> {
    inner: Arc<S>,
    rules: Arc<Rules>,
}

impl<S: Answer> Admit<S> {
    pub(super) fn new(inner: S, rules: Arc<Rules>) -> Self {
        Self { inner: Arc::new(inner), rules }
    }
}

impl<S: Answer> Answer for Admit<S> {
    fn call<'a>(&self, request: Request<'a>) -> impl Future<Output = MethodResponse> + Send + use<'a, S> {
        let Some(session) = request.extensions().get::<Arc<Session>>() else {
            return Either::Left(ready(refuse(request.id, Error::Internal)));
        };
        let account = Arc::clone(session.account());
        let batch = request.extensions().get::<InBatch>().cloned();
        let size = self.rules.find(&request.method).map_or(Size::Small, |entry| entry.size);
        if size == Size::Small && account.has_room() {
            let answer = self.inner.call(request);
            return Either::Right(Either::Left(async move { count(&account, batch.as_ref(), answer.await) }));
        }
        let (inner, patience) = (Arc::clone(&self.inner), self.rules.limits.handler_timeout.duration());
        Either::Right(Either::Right(async move {
            let Ok(_permits) = tokio::time::timeout(patience, account.admit(size)).await else {
                let what = "too many answers at once, or answers that are not read";
                return refuse(request.id, Error::Busy { what, retry_after: Duration::from_secs(1) });
            };
            count(&account, batch.as_ref(), inner.call(request).await)
        }))
    }
}

fn count(account: &Account, batch: Option<&InBatch>, mut response: MethodResponse) -> MethodResponse {
    // The answer to a subscribe call is on its way already, and short.
    if !response.is_subscription() {
        let bytes = response.as_json().get().len();
        account.made(bytes);
        response.extensions_mut().insert(Counted(bytes));
        if let Some(batch) = batch {
            batch.made.fetch_add(bytes, Ordering::AcqRel);
        }
    }
    response
}
