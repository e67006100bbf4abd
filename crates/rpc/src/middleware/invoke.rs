use std::future::{Future, ready};
use std::sync::Arc;

use futures_util::future::Either;
use jsonrpsee::server::MethodResponse;
use jsonrpsee::server::middleware::rpc::Request;

use super::{Answer, Error, Rules, refuse};
use crate::jsonrpc::entry::{Notified, OverHttp};
use crate::jsonrpc::request_id::NumberId;
use crate::method::Kind;
use crate::table::invoker::MethodInvoker;

/// Calls the methods: the innermost middleware.
pub(crate) struct Invoke {
    invoker: MethodInvoker,
    rules: Arc<Rules>,
}

impl Invoke {
    pub(super) fn new(invoker: MethodInvoker, rules: Arc<Rules>) -> Self {
        Self { invoker, rules }
    }

    /// Returns the reason why a request cannot be made in this way.
    fn refusal(&self, request: &Request<'_>) -> Option<&'static str> {
        let (kind, extensions) = (self.rules.find(&request.method)?.kind, request.extensions());
        match kind {
            Kind::Subscription | Kind::Unsubscription if extensions.get::<OverHttp>().is_some() => Some(
                "subscriptions need a WebSocket (ws:// to the same address), or a GET of /subscribe_… with the parameters as its query",
            ),
            // Without an id, the client could not recognise the items or end the subscription.
            Kind::Subscription if extensions.get::<Notified>().is_some() => Some("a subscription needs an id, which its answer has"),
            // jsonrpsee answers it itself.
            Kind::Subscription if extensions.get::<NumberId>().is_some() => {
                Some("the id of a subscribe call is a text or a whole number from 0 to 18446744073709551615")
            }
            _ => None,
        }
    }
}

impl Answer for Invoke {
    fn call<'a>(&self, request: Request<'a>) -> impl Future<Output = MethodResponse> + Send + use<'a> {
        if let Some(refusal) = self.refusal(&request) {
            return Either::Left(ready(refuse(request.id, Error::Request(refusal))));
        }
        Either::Right(self.invoker.call(request))
    }
}
