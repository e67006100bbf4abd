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
use crate::jsonrpc::entry::{Entry, Notified, Reply, invalid};
use crate::jsonrpc::request_id::NumberId;
use crate::memory::{BatchAnswers, BatchExcess, RequestReservation};
use crate::method::Kind;
use crate::session::auth::Session;

/// Splits a batch into single calls, which run concurrently and are answered in order, and executes notifications.
pub(crate) struct FanOut<S> {
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

    /// Answers a message that is no batch. A subscription sends its answer itself.
    pub(crate) fn one(&self, entry: Entry) -> impl Future<Output = Option<Reply>> + Send + use<S> {
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

    /// Executes notifications in a task of its own, because the client may disconnect at once.
    ///
    /// They run one after the other, so that waiting notifications of a batch use only the memory of their text, which is reserved.
    fn notify(&self, requests: Vec<Request<'static>>) -> impl Future<Output = ()> + Send + use<S> {
        let inner = Arc::clone(&self.inner);
        let task = tokio::spawn(async move {
            let _reservation = requests.first().and_then(|request| request.extensions().get::<Weak<RequestReservation>>()?.upgrade());
            for mut request in requests {
                request.extensions_mut().insert(Notified);
                let method: String = request.method.chars().take(64).collect();
                let response = inner.call(request).await;
                if let Some(code) = response.as_error_code() {
                    tracing::debug!(method, code, answer = response.as_json().get(), "a notification came to nothing");
                }
            }
        });
        // The task does not panic, and nothing ends it before the process ends.
        task.map(drop)
    }

    /// Answers a batch that is not empty.
    pub(crate) fn batch(&self, batch: Vec<Entry>) -> impl Future<Output = Option<Reply>> + Send + use<S> {
        let most = self.rules.limits.response_bytes;
        let mut batch_answers: Option<Arc<BatchAnswers>> = None;
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
                        let batch_answers =
                            batch_answers.get_or_insert_with(|| Arc::new(BatchAnswers::new(Arc::clone(session.connection()), most.into())));
                        let batch_answers = Arc::clone(batch_answers);
                        request.extensions_mut().insert(batch_answers);
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
            let (mut whole, mut has_secret) = (String::from("["), false);
            loop {
                // Answers of the batch are created only while it is polled here. So this notices at once when they are too large, in
                // whatever order they are created.
                let next = poll_fn(|cx| {
                    let next = answers.poll_next_unpin(cx);
                    batch_answers
                        .as_ref()
                        .and_then(|batch_answers| batch_answers.excess())
                        .map_or_else(|| next.map(Ok), |excess| Poll::Ready(Err(excess)))
                });
                let too_large = || Some(MethodResponse::error(Id::Null, reject_too_big_batch_response(most as usize)).into());
                // If the batch ends early, its other calls are dropped, and the memory of the finished answers is freed.
                match next.await {
                    Ok(None) => break,
                    Ok(Some(None)) => {}
                    Ok(Some(Some(reply))) if whole.len() + reply.json.get().len() + 1 > most as usize => return too_large(),
                    Ok(Some(Some(reply))) => {
                        has_secret |= reply.has_secret;
                        whole.push_str(reply.json.get());
                        whole.push(',');
                    }
                    Err(BatchExcess::TooLarge) => return too_large(),
                    Err(BatchExcess::Crowded) => return Some(refuse(Id::Null, Error::no_room()).into()),
                }
            }
            // If the next message were read meanwhile, any number of notifications could wait. Over HTTP, the answer means that they are
            // done.
            if let Some(carried_out) = carried_out {
                carried_out.await;
            }
            if whole.len() == 1 {
                return None; // The batch had only notifications.
            }
            whole.pop();
            whole.push(']');
            let json = RawValue::from_string(whole).expect("a list of JSON is JSON");
            let counted = batch_answers.map_or(0, |batch_answers| batch_answers.send());
            Some(Reply { json, counted, has_secret, logged_out: false })
        }
    }
}
