use std::future::{Future, poll_fn};
use std::sync::{Arc, Weak};
use std::task::Poll;

use futures_util::FutureExt;
use futures_util::future::Either;
use futures_util::stream::{FuturesOrdered, StreamExt};
use jsonrpsee::server::MethodResponse;
use jsonrpsee::server::middleware::rpc::Request;
use jsonrpsee::types::Id;
use jsonrpsee::types::error::reject_too_big_batch_response;
use serde_json::value::RawValue;

use super::{Answer, Error, Rules, refuse};
use crate::rpc::auth::Session;
use crate::rpc::entry::{Entry, Notified, Reply, invalid};
use crate::rpc::method::Kind;
use crate::rpc::request_id::NumberId;
use crate::rpc::room::{Held, Parts, Surplus};

/// Turns a batch into single calls that are made at the same time and answered in order, and has notifications carried out.
pub(in crate::rpc) struct FanOut<S> {
    inner: Arc<S>,
    rules: Arc<Rules>,
}

impl<S: Answer> FanOut<S> {
    pub(super) fn new(inner: S, rules: Arc<Rules>) -> Self {
        Self { inner: Arc::new(inner), rules }
    }

    fn is_subscription(&self, method: &str) -> bool {
        self.rules.find(method).is_some_and(|entry| entry.kind == Kind::Subscription)
    }

    /// Answers what came alone. A subscription answers for itself.
    pub(in crate::rpc) fn one(&self, entry: Entry) -> impl Future<Output = Option<Reply>> + Send + use<S> {
        match entry {
            Entry::Call(request) => {
                let id = request.extensions().get::<NumberId>().cloned();
                let answer = self.inner.call(request);
                Either::Left(answer.map(|response| (!response.is_subscription()).then(|| Reply::from(response).with_id(id))))
            }
            Entry::Notification(request) => Either::Right(Either::Left(self.notify(vec![request]).map(|()| None))),
            Entry::Invalid(id, number) => {
                let refusal = Reply::from(invalid(id)).with_id(number);
                Either::Right(Either::Right(std::future::ready(Some(refusal))))
            }
        }
    }

    /// Has notifications carried out, whether or not anybody waits for that: who sent them may leave at once.
    ///
    /// One after the other, so that those of a batch that wait for their turn take no more than their text, which is held.
    fn notify(&self, requests: Vec<Request<'static>>) -> impl Future<Output = ()> + Send + use<S> {
        let inner = Arc::clone(&self.inner);
        let task = tokio::spawn(async move {
            let _held = requests.first().and_then(|request| request.extensions().get::<Weak<Held>>()?.upgrade());
            for mut request in requests {
                request.extensions_mut().insert(Notified);
                let method: String = request.method.chars().take(64).collect();
                let response = inner.call(request).await;
                if let Some(code) = response.as_error_code() {
                    tracing::debug!(method, code, answer = response.as_json().get(), "a notification came to nothing");
                }
            }
        });
        // It does not panic, and is not told to end before the whole process does.
        task.map(drop)
    }

    /// Answers a batch that is not empty.
    pub(in crate::rpc) fn batch(&self, batch: Vec<Entry>) -> impl Future<Output = Option<Reply>> + Send + use<S> {
        let most = self.rules.limits.response_bytes;
        let mut parts: Option<Arc<Parts>> = None;
        let mut answers = FuturesOrdered::new();
        let mut notifications = Vec::new();
        for entry in batch {
            answers.push_back(match entry {
                Entry::Call(request) if self.is_subscription(&request.method) => {
                    let refusal = Error::Request("a subscription cannot begin in a batch; subscribe in a message of its own");
                    let id = request.extensions().get::<NumberId>().cloned();
                    Either::Left(std::future::ready(Some(Reply::from(refuse(request.id, refusal)).with_id(id))))
                }
                Entry::Call(mut request) => {
                    if let Some(session) = request.extensions().get::<Arc<Session>>() {
                        let parts = parts.get_or_insert_with(|| Arc::new(Parts::new(Arc::clone(session.account()), most.into())));
                        let parts = Arc::clone(parts);
                        request.extensions_mut().insert(parts);
                    }
                    Either::Right(self.one(Entry::Call(request)))
                }
                Entry::Notification(request) => {
                    notifications.push(request);
                    continue;
                }
                other => Either::Right(self.one(other)),
            });
        }
        let carried_out = (!notifications.is_empty()).then(|| self.notify(notifications));
        async move {
            let mut whole = String::from("[");
            loop {
                // Parts are made nowhere but here, so this sees at once when they are too many; their order must not matter for that.
                let next = poll_fn(|cx| {
                    let next = answers.poll_next_unpin(cx);
                    parts.as_ref().and_then(|parts| parts.surplus()).map_or_else(|| next.map(Ok), |surplus| Poll::Ready(Err(surplus)))
                });
                let too_large = || Some(MethodResponse::error(Id::Null, reject_too_big_batch_response(most as usize)).into());
                // What ends it drops its other calls, and gives back what was counted for those that were answered.
                match next.await {
                    Ok(None) => break,
                    Ok(Some(None)) => {}
                    Ok(Some(Some(reply))) if whole.len() + reply.json.get().len() + 1 > most as usize => return too_large(),
                    Ok(Some(Some(reply))) => {
                        whole.push_str(reply.json.get());
                        whole.push(',');
                    }
                    Err(Surplus::TooLarge) => return too_large(),
                    Err(Surplus::Crowded) => return Some(refuse(Id::Null, Error::no_room()).into()),
                }
            }
            // Who reads on meanwhile would let any number wait, and over HTTP the answer says that they are done.
            if let Some(carried_out) = carried_out {
                carried_out.await;
            }
            if whole.len() == 1 {
                return None; // Nothing but notifications.
            }
            whole.pop();
            whole.push(']');
            let json = RawValue::from_string(whole).expect("a list of JSON is JSON");
            Some(Reply { json, counted: parts.map_or(0, |parts| parts.send()) })
        }
    }
}
