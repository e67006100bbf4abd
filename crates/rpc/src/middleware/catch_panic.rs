use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};

use futures_util::FutureExt;
use jsonrpsee::server::MethodResponse;
use jsonrpsee::server::middleware::rpc::Request;

use super::{Answer, Error, refuse};

/// Answers calls whose handler panics. Without this they would get no answer.
pub(crate) struct CatchPanic<S>(S);

impl<S: Answer> CatchPanic<S> {
    pub(super) fn new(inner: S) -> Self {
        Self(inner)
    }
}

impl<S: Answer> Answer for CatchPanic<S> {
    fn call<'a>(&self, request: Request<'a>) -> impl Future<Output = MethodResponse> + Send + use<'a, S> {
        let id = request.id();
        // A handler begins to run here, not only when its future is polled. A panic leaves no locks or incomplete state behind: handlers
        // own what they change, and the drop of permits and reservations corrects shared counts.
        let call = catch_unwind(AssertUnwindSafe(|| self.0.call(request)));
        async move {
            let response = match call {
                Ok(call) => AssertUnwindSafe(call).catch_unwind().await,
                Err(panic) => Err(panic),
            };
            response.unwrap_or_else(|_| {
                tracing::error!("a method panicked; the message of the panic says where");
                refuse(id, Error::Internal)
            })
        }
    }
}
