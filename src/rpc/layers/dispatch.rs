use std::future::{Future, ready};
use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::Either;
use jsonrpsee::server::MethodResponse;
use jsonrpsee::server::middleware::rpc::{Request, RpcService, RpcServiceT};

use super::fan_out::OverHttp;
use super::{Answer, Error, Rules, refuse};
use crate::rpc::socket::Caller;
use crate::rpc::table::Kind;

/// What calls methods: jsonrpsee for a body, our own for a WebSocket.
pub(super) enum Target {
    Http(RpcService),
    Socket(Caller),
}

/// Hands calls to their methods.
pub(in crate::rpc) struct Dispatch {
    target: Target,
    rules: Arc<Rules>,
}

impl Dispatch {
    pub(super) fn new(target: Target, rules: Arc<Rules>) -> Self {
        Self { target, rules }
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
        Either::Right(match &self.target {
            Target::Http(service) => service.call(request).boxed(),
            Target::Socket(caller) => caller.call(request).boxed(),
        })
    }
}
