use std::future::{Future, poll_fn};
use std::sync::{Arc, Weak};
use std::task::Poll;

use futures_util::FutureExt;
use futures_util::future::Either;
use futures_util::stream::{FuturesOrdered, StreamExt};
use jsonrpsee::server::MethodResponse;
use jsonrpsee::server::middleware::rpc::Request;
use jsonrpsee::types::error::{INVALID_REQUEST_CODE, reject_too_big_batch_response};
use jsonrpsee::types::{ErrorObject, Id};
use serde_json::value::RawValue;

use super::{Answer, Error, Rules, refuse};
use crate::rpc::auth::Session;
use crate::rpc::room::{Held, Parts, Surplus};
use crate::rpc::table::Kind;

/// Marks calls that came in an HTTP body.
#[derive(Debug, Clone, Copy)]
pub(in crate::rpc) struct OverHttp;

/// Marks notifications: calls whose answer is made for nobody.
#[derive(Debug, Clone, Copy)]
pub(in crate::rpc) struct Notified;

/// An id that jsonrpsee cannot hold, as its JSON. Its call is made without, and it is put into the answer.
#[derive(Debug, Clone)]
pub(in crate::rpc) struct NumberId(pub(in crate::rpc) Arc<str>);

/// How many bytes of an answer are counted already.
#[derive(Debug, Clone, Copy)]
pub(super) struct Counted(pub(super) usize);

/// Ids that are longer are no ids: every refusal repeats them.
pub(in crate::rpc) const LONGEST_ID: usize = 1024;

/// A message, or an entry of a batch.
pub(in crate::rpc) enum Entry {
    Call(Request<'static>),
    Notification(Request<'static>),
    /// Neither, with its id if that can be told.
    Invalid(Id<'static>, Option<NumberId>),
}

impl Entry {
    /// Neither, and without an id.
    pub(in crate::rpc) const INVALID: Self = Self::Invalid(Id::Null, None);
}

/// What is sent back.
#[derive(Debug)]
pub(in crate::rpc) struct Reply {
    /// The text.
    pub(in crate::rpc) json: Box<RawValue>,
    /// How many of its bytes are counted as an answer already.
    pub(in crate::rpc) counted: usize,
}

impl From<MethodResponse> for Reply {
    fn from(response: MethodResponse) -> Self {
        let counted = response.extensions().get::<Counted>().map_or(0, |counted| counted.0);
        Self { json: response.into_json(), counted }
    }
}

impl Reply {
    /// The same with another id than none.
    pub(in crate::rpc) fn with_id(mut self, id: Option<NumberId>) -> Self {
        const BEFORE: &str = r#"{"jsonrpc":"2.0","id":"#;
        if let Some(NumberId(id)) = id
            && let Some(rest) = self.json.get().strip_prefix(BEFORE).and_then(|rest| rest.strip_prefix("null"))
        {
            self.json = RawValue::from_string(format!("{BEFORE}{id}{rest}")).expect("one scalar took the place of another");
        }
        self
    }
}

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

/// The answer to what is no request, in the words of the specification.
pub(in crate::rpc) fn invalid(id: Id<'_>) -> MethodResponse {
    MethodResponse::error(id, ErrorObject::borrowed(INVALID_REQUEST_CODE, "Invalid Request", None))
}
