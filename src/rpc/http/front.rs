use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::response::Response;
use http::{Extensions, Method, StatusCode, header};
use http_body_util::BodyExt;
use jsonrpsee::server::http::{is_json, response as answers};
use jsonrpsee::server::{MethodResponse, Methods, StopHandle, ws};
use jsonrpsee::types::{ErrorCode, ErrorObjectOwned, Id};
use tokio::time::{Instant, timeout, timeout_at};
use tower::Service;

use super::inspect::{Finding, inspect};
use crate::rpc::auth::Session;
use crate::rpc::error::Error;
use crate::rpc::layers::{NoContent, OverHttp, Rules, Way, way};
use crate::rpc::limits::Limits;
use crate::rpc::message;
use crate::rpc::room::Held;
use crate::rpc::socket::{Caller, Sockets};

/// What stands at `/`: WebSockets and bodies.
///
/// jsonrpsee would keep a body as long as its call takes, which may be an hour.
#[derive(Clone)]
pub(in crate::rpc) struct Front {
    way: Arc<Way>,
    sockets: Arc<Sockets>,
    body_limit: u32,
    batch_limit: usize,
    patience: Duration,
}

impl Front {
    /// A front for `methods` whose connections end in order once `stop` says so.
    pub(in crate::rpc) fn new(methods: Methods, rules: Arc<Rules>, limits: &Limits, stop: StopHandle) -> Self {
        let way = Arc::new(way(&rules, Caller::without_subscriptions(methods.clone(), limits.response_bytes as usize)));
        let sockets = Arc::new(Sockets::new(methods, rules, limits.clone(), stop));
        let patience = limits.handler_timeout.duration();
        Self { way, sockets, body_limit: limits.request_bytes, batch_limit: limits.batch as usize, patience }
    }

    async fn answer(self, request: Request) -> Response {
        let Some(session) = request.extensions().get::<Arc<Session>>().map(Arc::clone) else {
            return refuse(ErrorCode::InternalError.into());
        };
        if ws::is_upgrade_request(&request) {
            return self.sockets.open(request, session);
        }
        if request.method() != Method::POST {
            return answers::method_not_allowed().map(Body::new);
        }
        if !is_json(request.headers().get(header::CONTENT_TYPE)) {
            return answers::unsupported_content_type().map(Body::new);
        }
        let mut held = session.account().request();
        let body = match collect(request.into_body(), self.body_limit as usize, self.patience, &mut held).await {
            Ok(body) => body,
            Err(Broken::TooLarge) => return answers::too_large(self.body_limit).map(Body::new),
            Err(Broken::NoRoom) => {
                let busy =
                    Error::Busy { what: "too many requests at once, or answers that are not read", retry_after: Duration::from_secs(1) };
                return refuse(busy.into_object());
            }
            Err(Broken::Malformed) => return answers::malformed().map(Body::new),
            Err(Broken::Late) => return late(),
        };
        let begin = body.iter().take(128).find(|byte| !byte.is_ascii_whitespace());
        if !matches!(begin, Some(b'{' | b'[')) {
            return answers::malformed().map(Body::new);
        }
        match inspect(&body) {
            Finding::NotText => refuse(ErrorCode::ParseError.into()),
            Finding::Invalid => refuse(ErrorCode::InvalidRequest.into()),
            Finding::Pass(bad_ids) => self.call(session, body, held, bad_ids.into()).await,
        }
    }

    /// Answers the calls of a body.
    async fn call(self, session: Arc<Session>, body: Vec<u8>, held: Held, bad_ids: Arc<[usize]>) -> Response {
        let mut extensions = Extensions::new();
        extensions.insert(session);
        extensions.insert(OverHttp { bad_ids });
        let held = Arc::new(held);
        extensions.insert(Arc::downgrade(&held));
        let mut answer = message::answer(&self.way, &body, &extensions, self.batch_limit);
        drop(body);
        let in_time = timeout(self.patience, &mut answer).await;
        // A call that takes longer waits for a job, and has let go of its parameters; or for room, and holds them itself.
        drop(held);
        let response = match in_time {
            Ok(response) => response,
            Err(_) => answer.await,
        };
        if response.extensions().get::<NoContent>().is_some() {
            return status(StatusCode::NO_CONTENT, Bytes::new());
        }
        answers::from_method_response(response).map(Body::new)
    }
}

fn refuse(error: ErrorObjectOwned) -> Response {
    answers::from_method_response(MethodResponse::error(Id::Null, error)).map(Body::new)
}

/// Why a body cannot be read.
enum Broken {
    TooLarge,
    NoRoom,
    Malformed,
    Late,
}

/// Reads a body to its end.
async fn collect(mut body: Body, limit: usize, time: Duration, held: &mut Held) -> Result<Vec<u8>, Broken> {
    let mut whole = Vec::new();
    let mut deadline = Instant::now() + time;
    while let Some(frame) = timeout_at(deadline, body.frame()).await.map_err(|_| Broken::Late)? {
        let Ok(data) = frame.map_err(|_| Broken::Malformed)?.into_data() else { continue };
        if data.len() > limit - whole.len() {
            return Err(Broken::TooLarge);
        }
        let asked = Instant::now();
        if !held.grow(data.len()).await {
            return Err(Broken::NoRoom);
        }
        // The peer was not read meanwhile, so this was not its time.
        deadline += asked.elapsed();
        whole.extend_from_slice(&data);
    }
    Ok(whole)
}

fn late() -> Response {
    status(StatusCode::REQUEST_TIMEOUT, Bytes::from_static(b"The body took too long to arrive.\n"))
}

fn status(status: StatusCode, body: Bytes) -> Response {
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    response
}

impl Service<Request> for Front {
    type Response = Response;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request) -> Self::Future {
        let front = self.clone();
        Box::pin(async move { Ok(front.answer(request).await) })
    }
}
