use std::future::{Future, poll_fn, ready};
use std::sync::Arc;
use std::task::Poll;

use futures_util::future::Either;
use futures_util::stream::{FuturesOrdered, StreamExt};
use jsonrpsee::server::middleware::rpc::{Batch, BatchEntry, Notification, Request, RpcServiceT};
use jsonrpsee::server::{BatchResponseBuilder, MethodResponse};
use jsonrpsee::types::error::reject_too_big_batch_response;
use jsonrpsee::types::{ErrorCode, Id};

use super::{Answer, Error, Rules, refuse};
use crate::rpc::auth::Session;
use crate::rpc::room::{Parts, Surplus};
use crate::rpc::table::Kind;

/// Marks calls that came in an HTTP body, and which entries of its batch have an id that jsonrpsee takes for none.
#[derive(Debug, Clone, Default)]
pub(in crate::rpc) struct OverHttp {
    pub(in crate::rpc) bad_ids: Arc<[usize]>,
}

/// How many bytes of an answer are counted already.
#[derive(Debug, Clone, Copy)]
pub(in crate::rpc) struct Counted(pub(in crate::rpc) usize);

/// Ids that are longer are no ids: every refusal repeats them.
const LONGEST_ID: usize = 1024;

/// The id of a request that is refused, unless it is too long.
pub(in crate::rpc) fn short(id: Id<'_>) -> Id<'_> {
    if is_long(&id) { Id::Null } else { id }
}

fn is_long(id: &Id<'_>) -> bool {
    matches!(id, Id::Str(id) if id.len() > LONGEST_ID)
}

/// Marks an answer without content.
#[derive(Debug, Clone, Copy)]
pub(in crate::rpc) struct NoContent;

/// Turns a batch into single calls that are made at the same time and answered in order.
///
/// jsonrpsee takes a request with an id that it cannot read (negative, a fraction, twice) for a notification, and would never
/// answer. Notifications call nothing here, so on a WebSocket, where the id is lost, each of them is answered with an error;
/// over HTTP the body has been looked at before and a true notification is answered with 204.
pub(in crate::rpc) struct FanOut<S> {
    inner: S,
    rules: Arc<Rules>,
}

impl<S: Answer> FanOut<S> {
    pub(super) fn new(inner: S, rules: Arc<Rules>) -> Self {
        Self { inner, rules }
    }

    fn is_subscription(&self, method: &str) -> bool {
        self.rules.find(method).is_some_and(|entry| entry.kind == Kind::Subscription)
    }
}

fn invalid() -> MethodResponse {
    MethodResponse::error(Id::Null, ErrorCode::InvalidRequest)
}

impl<S: Answer> RpcServiceT for FanOut<S> {
    type MethodResponse = MethodResponse;
    type NotificationResponse = MethodResponse;
    type BatchResponse = MethodResponse;

    fn call<'a>(&self, request: Request<'a>) -> impl Future<Output = MethodResponse> + Send + 'a {
        if is_long(&request.id) { Either::Left(ready(invalid())) } else { Either::Right(self.inner.call(request)) }
    }

    fn batch<'a>(&self, batch: Batch<'a>) -> impl Future<Output = MethodResponse> + Send + 'a {
        let most = self.rules.limits.response_bytes;
        let mut answer = BatchResponseBuilder::new_with_limit(most as usize);
        let is_empty = batch.is_empty();
        let mut parts: Option<Arc<Parts>> = None;
        let mut answers = FuturesOrdered::new();
        for (at, entry) in batch.into_iter().enumerate() {
            answers.push_back(match entry {
                Ok(BatchEntry::Call(request)) if is_long(&request.id) => Either::Left(ready(invalid())),
                Ok(BatchEntry::Call(request)) if self.is_subscription(&request.method) => {
                    let refusal = Error::Request("a subscription cannot begin in a batch; subscribe in a message of its own");
                    Either::Left(ready(refuse(request.id, refusal)))
                }
                Ok(BatchEntry::Call(mut request)) => {
                    if let Some(session) = request.extensions().get::<Arc<Session>>() {
                        let parts = parts.get_or_insert_with(|| Arc::new(Parts::new(Arc::clone(session.account()), most.into())));
                        let parts = Arc::clone(parts);
                        request.extensions_mut().insert(parts);
                    }
                    Either::Right(self.inner.call(request))
                }
                Ok(BatchEntry::Notification(notification)) => match notification.extensions().get::<OverHttp>() {
                    Some(http) if !http.bad_ids.contains(&at) => continue,
                    _ => Either::Left(ready(invalid())),
                },
                Err(error) => {
                    let (error, id) = error.into_parts();
                    Either::Left(ready(MethodResponse::error(short(id), error)))
                }
            });
        }
        async move {
            if answers.is_empty() && !is_empty {
                return nothing();
            }
            loop {
                // Parts are made nowhere but here, so this sees at once when they are too many; their order must not matter for that.
                let next = poll_fn(|cx| {
                    let next = answers.poll_next_unpin(cx);
                    parts.as_ref().and_then(|parts| parts.surplus()).map_or_else(|| next.map(Ok), |surplus| Poll::Ready(Err(surplus)))
                });
                // What ends it drops its other calls, and gives back what was counted for those that were answered.
                match next.await {
                    Ok(None) => break,
                    Ok(Some(response)) => {
                        if let Err(too_large) = answer.append(response) {
                            return too_large;
                        }
                    }
                    Err(Surplus::TooLarge) => return MethodResponse::error(Id::Null, reject_too_big_batch_response(most as usize)),
                    Err(Surplus::Crowded) => return refuse(Id::Null, Error::no_room()),
                }
            }
            let mut whole = MethodResponse::from_batch(answer.finish());
            whole.extensions_mut().insert(Counted(parts.map_or(0, |parts| parts.send())));
            whole
        }
    }

    fn notification<'a>(&self, notification: Notification<'a>) -> impl Future<Output = MethodResponse> + Send + 'a {
        let over_http = notification.extensions().get::<OverHttp>().is_some();
        ready(if over_http { nothing() } else { invalid() })
    }
}

fn nothing() -> MethodResponse {
    let mut response = MethodResponse::notification();
    response.extensions_mut().insert(NoContent);
    response
}
