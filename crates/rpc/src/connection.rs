//! An accepted connection, until it closes.

pub(crate) mod addresses;
pub(crate) mod anonymous;
pub(crate) mod overflow;
pub(crate) mod stall_timeout;

use std::convert::Infallible;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Router;
use axum::body::{Bytes, HttpBody};
use axum::response::Response;
use http::{HeaderValue, Request, StatusCode, header};
use hyper::server::conn::http1;
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use jsonrpsee::server::StopHandle;
use tokio::io::{AsyncRead, AsyncWrite};
use tower::Service;

use super::limits::Limits;
use crate::session::auth::Session;
use stall_timeout::StallTimeout;

/// The most bytes of the head of a request, and of one write.
const MAX_HEAD_BYTES: usize = 64 * 1024;
/// The time limit of a new connection for its first request.
const FIRST_REQUEST_TIMEOUT: Duration = Duration::from_secs(30);

/// A connection over any transport.
pub(super) struct HttpConnection {
    session: Arc<Session>,
    router: Router,
    stop: StopHandle,
    write_timeout: Duration,
    idle_timeout: Duration,
    /// The number of connections, accept loops included, at which the server is full. `None`: this connection takes no place.
    most: Option<usize>,
}

impl HttpConnection {
    pub(super) fn new(session: Session, router: Router, stop: StopHandle, limits: &Limits, most: Option<usize>) -> Self {
        let (write_timeout, idle_timeout) = (limits.write_timeout.duration(), limits.idle_timeout.duration());
        Self { session: Arc::new(session), router, stop, write_timeout, idle_timeout, most }
    }

    /// Waits for the preparation of the connection, unless the server stops first, or others need the memory.
    pub(super) async fn prepared<T>(&self, preparing: impl Future<Output = Option<T>>) -> Option<T> {
        tokio::select! {
            prepared = preparing => prepared,
            () = self.stop.clone().shutdown() => None,
            () = self.session.connection().ended() => None,
        }
    }

    /// Answers the requests on it.
    pub(super) async fn serve(self, socket: impl AsyncRead + AsyncWrite + Send + Unpin + 'static) {
        let Self { session, router, stop, write_timeout, idle_timeout, most } = self;
        let peer = session.peer();
        let wire = StallTimeout::new(socket, Arc::clone(session.connection()), write_timeout);
        let service = TowerToHyperService::new(ConnectionService { router, session: Arc::clone(&session), most });
        let served = http1::Builder::new().max_buf_size(MAX_HEAD_BYTES).serve_connection(TokioIo::new(wire), service).with_upgrades();
        let stopped = stop.shutdown();
        tokio::pin!(served, stopped);
        let served = tokio::select! {
            served = &mut served => served,
            () = &mut stopped => {
                served.as_mut().graceful_shutdown();
                tokio::select! {
                    served = served => served,
                    () = session.connection().ended() => return,
                }
            }
            () = session.connection().ended() => return,
            () = session.outstayed() => {
                tracing::debug!(%peer, "a connection on which nobody has logged in for long is closed");
                served.as_mut().graceful_shutdown();
                tokio::select! {
                    served = served => served,
                    () = session.connection().ended() => return,
                    () = idle_for(idle_timeout, &session) => return,
                }
            }
            () = idle_for(idle_timeout, &session) => return tracing::debug!(%peer, "an idle connection was closed"),
        };
        if let Err(error) = served {
            tracing::debug!(%error, %peer, "a connection broke");
        }
    }
}

/// Returns when the connection has been without an HTTP request for `limit`. It does not apply to WebSockets, which are no HTTP after the
/// upgrade.
async fn idle_for(limit: Duration, session: &Session) {
    loop {
        let limit = if session.has_asked() { limit } else { limit.min(FIRST_REQUEST_TIMEOUT) };
        match limit.checked_sub(session.idle()) {
            Some(left) if !left.is_zero() => tokio::time::sleep(left).await,
            _ => return,
        }
    }
}

/// Answers the requests of one connection: passes each to the router, with the connection's session.
#[derive(Clone)]
struct ConnectionService {
    router: Router,
    session: Arc<Session>,
    most: Option<usize>,
}

impl<B> Service<Request<B>> for ConnectionService
where
    B: HttpBody<Data = Bytes> + Send + 'static,
    B::Error: Into<axum::BoxError>,
{
    type Response = Response;
    type Error = Infallible;
    type Future = std::pin::Pin<Box<dyn Future<Output = Result<Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, mut request: Request<B>) -> Self::Future {
        let open_request = self.session.begin();
        request.extensions_mut().insert(Arc::clone(&self.session));
        let (answer, session, most) = (self.router.call(request), Arc::clone(&self.session), self.most);
        Box::pin(async move {
            let mut answer = answer.await;
            // An idle connection would take the place of others, perhaps of a WebSocket of the client that asks here why none opens.
            if let Ok(response) = &mut answer
                && response.status() != StatusCode::SWITCHING_PROTOCOLS
                && most.is_some_and(|most| session.is_crowded(most))
            {
                response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
            }
            drop(open_request);
            answer
        })
    }
}
