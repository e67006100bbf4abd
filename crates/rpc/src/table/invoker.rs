use std::future::ready;

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Either};
use jsonrpsee::server::middleware::rpc::Request;
use jsonrpsee::server::{
    BoundedSubscriptions, ConnectionId, MethodCallback, MethodResponse, MethodSink, Methods, RandomStringIdProvider, SubscriptionState,
};
use jsonrpsee::types::{ErrorCode, ErrorObject, Params, error::reject_too_many_subscriptions};
use serde::Deserialize;
use tokio::sync::mpsc;

use crate::params;

/// The parameters of each method that ends a subscription.
#[derive(Deserialize)]
struct Unsubscribe {
    subscription: String,
}

/// Calls the methods of jsonrpsee for one WebSocket, or for bodies.
#[derive(Clone)]
pub(crate) struct MethodInvoker {
    pub(crate) methods: Methods,
    pub(crate) connection: ConnectionId,
    pub(crate) response_bytes: usize,
    pub(crate) subscriptions: BoundedSubscriptions,
    /// The sink of subscriptions.
    pub(crate) sink: MethodSink,
}

impl MethodInvoker {
    /// Returns an invoker for HTTP bodies, which cannot subscribe.
    pub(crate) fn without_subscriptions(methods: Methods, response_bytes: usize) -> Self {
        let (subscriptions, sink) = (BoundedSubscriptions::new(0), MethodSink::new(mpsc::channel(1).0));
        Self { methods, connection: ConnectionId(0), response_bytes, subscriptions, sink }
    }

    /// Returns an invoker for one subscription over HTTP.
    pub(crate) fn of_stream(methods: Methods, response_bytes: usize, sink: MethodSink) -> Self {
        // No WebSocket has this number, so no call can end a subscription of another connection.
        let (subscriptions, connection) = (BoundedSubscriptions::new(1), ConnectionId(usize::MAX));
        Self { methods, connection, response_bytes, subscriptions, sink }
    }

    /// Calls a method, or begins or ends a subscription.
    pub(crate) fn call<'a>(&self, request: Request<'a>) -> impl Future<Output = MethodResponse> + Send + use<'a> {
        let Request { id, method, params, extensions, .. } = request;
        let params = Params::new(params.as_ref().map(|params| params.get()));
        let refuse = |id, error| Either::Left(ready(MethodResponse::error(id, error)));
        let later = |answer: BoxFuture<'a, MethodResponse>| Either::Right(answer);
        match self.methods.method_with_name(&method).map(|(_, callback)| callback) {
            None => refuse(id, ErrorObject::from(ErrorCode::MethodNotFound)),
            Some(MethodCallback::Sync(callback)) => Either::Left(ready(callback(id, params, self.response_bytes, extensions))),
            Some(MethodCallback::Async(callback)) => {
                later(callback(id.into_owned(), params.into_owned(), self.connection, self.response_bytes, extensions))
            }
            Some(MethodCallback::Subscription(callback)) => {
                let Some(subscription_permit) = self.subscriptions.acquire() else {
                    return refuse(id, reject_too_many_subscriptions(self.subscriptions.max()));
                };
                let ids = RandomStringIdProvider::new(16);
                let state = SubscriptionState { conn_id: self.connection, id_provider: &ids, subscription_permit };
                later(callback(id, params, self.sink.clone(), state, extensions).boxed())
            }
            Some(MethodCallback::Unsubscription(callback)) => {
                // jsonrpsee reads the parameter by position only, and answers false to invalid ones.
                let parsed = params::parse::<Unsubscribe>(params.as_str(), &["subscription".to_owned()]);
                let subscription = match parsed {
                    Ok(Unsubscribe { subscription }) => serde_json::json!([subscription]).to_string(),
                    Err(error) => return refuse(id, error.into_object()),
                };
                Either::Left(ready(callback(id, Params::new(Some(&subscription)), self.connection, self.response_bytes, extensions)))
            }
        }
    }
}
