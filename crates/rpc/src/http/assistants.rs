//! `/mcp`: access, limits, and the connection for calls of methods. A floor above (`crates/mcp/src`) defines the protocol.

use std::convert::Infallible;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use axum::Router;
use axum::body::{Body, Bytes, HttpBody};
use axum::extract::Request;
use axum::response::Response;
use futures_util::future::BoxFuture;
use http::Method;
use hyper::body::Frame;
use jsonrpsee::server::StopHandle;
use tokio::io::DuplexStream;
use tower::Service;

use super::endpoint::{Endpoint, dismissed, unauthorized};
use crate::connection::HttpConnection;
use crate::error::Error;
use crate::limits::Limits;
use crate::memory::RequestReservation;
use crate::middleware::pass;
use crate::session::access::Access;
use crate::session::auth::{OpenRequest, Principal, Session};

/// The handler of requests to `/mcp`. Each request comes with the visit of its caller.
pub type Assistants = Arc<dyn Fn(http::Request<Bytes>, Visit) -> BoxFuture<'static, Response> + Send + Sync>;

/// The most bytes between an assistant's request and the methods it calls, in each direction.
const PIPE_BYTES: usize = 64 * 1024;

/// An admitted request to `/mcp`, with the caller in whose name it calls methods.
#[derive(Clone)]
pub struct Visit {
    session: Arc<Session>,
    endpoint: Endpoint,
    stop: StopHandle,
    limits: Limits,
}

impl fmt::Debug for Visit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Visit").field("session", &self.session).finish_non_exhaustive()
    }
}

impl Visit {
    /// Returns the caller of the request, if it is known.
    pub fn caller(&self) -> Option<String> {
        self.session.caller_id()
    }

    /// Returns a connection to this server, on which a WebSocket may be opened. Calls on it count as calls of the requesting client from
    /// its address: they have the same rights and limits. The connection ends with the same token, and with the server.
    pub fn connect(&self) -> DuplexStream {
        let (near, far) = tokio::io::duplex(PIPE_BYTES);
        let router = Router::new().route_service("/", self.endpoint.clone());
        tokio::spawn(HttpConnection::new(self.session.of_socket(false), router, self.stop.clone(), &self.limits, None).serve(far));
        near
    }
}

/// The endpoint of requests to `/mcp`.
#[derive(Clone)]
pub(crate) struct AssistantEndpoint {
    assistants: Assistants,
    endpoint: Endpoint,
    access: Access,
    limits: Limits,
    stop: StopHandle,
}

impl AssistantEndpoint {
    /// Returns an endpoint with the callers and limits of `endpoint`.
    pub(crate) fn new(assistants: Assistants, endpoint: Endpoint, access: Access, limits: Limits, stop: StopHandle) -> Self {
        Self { assistants, endpoint, access, limits, stop }
    }

    async fn answer(self, request: Request) -> Result<Response, Response> {
        let (session, request) = self.endpoint.enter(request).await?;
        let is_known = self.access.is_open() || !matches!(session.principal(), Principal::Anonymous);
        let passed = if is_known { pass(&session, &self.access, &self.limits) } else { Err(Error::NotAuthenticated) };
        if let Err(error) = passed {
            return Err(dismissed(unauthorized(error), request.into_body(), self.limits.request_bytes as usize, session.connection()));
        }
        // Only a call has a body.
        let (parts, body, reservation) = match *request.method() {
            Method::POST => self.endpoint.read(&session, request).await?,
            _ => (request.into_parts().0, Vec::new(), RequestReservation::of(session.connection())),
        };
        let visit = Visit { session: Arc::clone(&session), endpoint: self.endpoint, stop: self.stop, limits: self.limits };
        let open = session.begin();
        let response = (self.assistants)(http::Request::from_parts(parts, body.into()), visit).await;
        Ok(response.map(|body| Body::new(Answer { body, session, _open: open, _reservation: reservation })))
    }
}

/// The body of an answer, which may go on for as long as a job runs. The bytes that it sends are counted, and the connection is not idle
/// while it sends.
struct Answer {
    body: Body,
    session: Arc<Session>,
    _open: OpenRequest,
    _reservation: RequestReservation,
}

impl HttpBody for Answer {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(cx));
        if let Some(Ok(frame)) = &frame
            && let Some(data) = frame.data_ref()
        {
            self.session.connection().made(data.len());
        }
        Poll::Ready(frame)
    }
}

impl Service<Request> for AssistantEndpoint {
    type Response = Response;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request) -> Self::Future {
        let endpoint = self.clone();
        Box::pin(async move { Ok(endpoint.answer(request).await.unwrap_or_else(|refusal| refusal)) })
    }
}
