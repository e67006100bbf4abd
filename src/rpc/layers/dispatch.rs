use std::future::{Future, ready};
use std::sync::Arc;

use futures_util::future::Either;
use jsonrpsee::server::MethodResponse;
use jsonrpsee::server::middleware::rpc::Request;

use super::fan_out::OverHttp;
use super::{Answer, Error, Rules, refuse};
use crate::rpc::socket::Caller;
use crate::rpc::table::Kind;

/// Hands calls to their methods.
pub(in crate::rpc) struct Dispatch {
    caller: Caller,
    rules: Arc<Rules>,
}

impl Dispatch {
    pub(super) fn new(caller: Caller, rules: Arc<Rules>) -> Self {
        Self { caller, rules }
    }

    fn needs_websocket(&self, method: &str) -> bool {
        self.rules.find(method).is_some_and(|entry| matches!(entry.kind, Kind::Subscription | Kind::Unsubscription))
    }
}

impl Answer for Dispatch {
    fn call<'a>(&self, request: Request<'a>) -> impl Future<Output = MethodResponse> + Send + use<'a> {
        if request.extensions().get::<OverHttp>().is_some() && self.needs_websocket(&request.method) {
            let error = Error::Request("subscriptions need a WebSocket; connect to the same address with ws://");
            return Either::Left(ready(refuse(request.id, error)));
        }
        Either::Right(self.caller.call(request))
    }
}
