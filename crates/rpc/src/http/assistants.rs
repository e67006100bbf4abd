//! `/mcp`: who may use it, how much at once, and by what it calls methods. What is said there is the business of a floor above (`crates/mcp/src`).

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
use crate::access::Access;
use crate::auth::{OpenRequest, Principal, Session};
use crate::error::Error;
use crate::limits::Limits;
use crate::memory::RequestReservation;
use crate::middleware::pass;
use crate::opened::Opened;

/// What answers the requests to `/mcp`, each in the name of a visit.
pub type Assistants = Arc<dyn Fn(http::Request<Bytes>, Visit) -> BoxFuture<'static, Response> + Send + Sync>;

/// How many bytes are on their way between an assistant's request and the methods it calls, in each direction.
const PIPE: usize = 64 * 1024;

/// A request to `/mcp` that was let in: in whose name it calls methods.
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
    /// Who makes the request, if that is known.
    pub fn caller(&self) -> Option<String> {
        self.session.caller_id()
    }

    /// A connection to this very server, on which a WebSocket may be opened. Whoever calls by it is who makes the request, from where that came: it has the same
    /// rights and the same limits, it ends with the same token, and with the server.
    pub fn connect(&self) -> DuplexStream {
        let (near, far) = tokio::io::duplex(PIPE);
        let router = Router::new().route_service("/", self.endpoint.clone());
        tokio::spawn(Opened::new(self.session.of_socket(false), router, self.stop.clone(), &self.limits, None).serve(far));
        near
    }
}

/// Answers requests to `/mcp`.
#[derive(Clone)]
pub(crate) struct AssistantEndpoint {
    assistants: Assistants,
    endpoint: Endpoint,
    access: Access,
    limits: Limits,
    stop: StopHandle,
}

impl AssistantEndpoint {
    /// The same callers and limits as `endpoint` has.
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
        // Nothing but a call has a body.
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

/// The body of an answer, which may go on for as long as a job runs. What it sends is counted, and as long as it sends the connection is not idle.
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
