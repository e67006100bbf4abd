use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::response::Response;
use http::{Method, StatusCode, header};
use http_body_util::BodyExt;
use jsonrpsee::server::http::{is_json, response as answers};
use jsonrpsee::server::middleware::rpc::RpcServiceBuilder;
use jsonrpsee::server::{
    BatchRequestConfig, HttpResponse, MethodResponse, Methods, Server, ServerConfig, StopHandle, TowerServiceBuilder, ws,
};
use jsonrpsee::types::{ErrorCode, ErrorObjectOwned, Id};
use tower::Service;
use tower::layer::util::{Identity, Stack};

use super::inspect::{Finding, inspect};
use crate::rpc::auth::Session;
use crate::rpc::error::Error;
use crate::rpc::layers::{Layers, NoContent, OverHttp, Rules};
use crate::rpc::limits::Limits;
use crate::rpc::room::Held;
use crate::rpc::socket::Sockets;

/// What stands at `/`: WebSockets, and jsonrpsee for bodies, behind a look at those that it reads wrong.
#[derive(Clone)]
pub(in crate::rpc) struct Front {
    rpc: TowerServiceBuilder<Stack<Layers, Identity>, Identity>,
    methods: Methods,
    sockets: Arc<Sockets>,
    stop: StopHandle,
    body_limit: u32,
    body_timeout: Duration,
}

impl Front {
    /// A front for `methods` whose connections end in order once `stop` says so.
    pub(in crate::rpc) fn new(methods: Methods, rules: Arc<Rules>, limits: &Limits, stop: StopHandle) -> Self {
        let config = ServerConfig::builder()
            .max_request_body_size(limits.request_bytes)
            .max_response_body_size(limits.response_bytes)
            .max_connections(limits.connections)
            .set_batch_request_config(BatchRequestConfig::Limit(limits.batch))
            .http_only()
            .build();
        let sockets = Arc::new(Sockets::new(methods.clone(), Arc::clone(&rules), limits.clone(), stop.clone()));
        let rpc = Server::builder().set_config(config).set_rpc_middleware(RpcServiceBuilder::new().layer(Layers(rules)));
        let body_timeout = limits.handler_timeout.duration();
        Self { rpc: rpc.to_service_builder(), methods, sockets, stop, body_limit: limits.request_bytes, body_timeout }
    }

    async fn answer(self, request: Request) -> Response {
        let is_call = request.method() == Method::POST && is_json(request.headers().get(header::CONTENT_TYPE));
        let Some(session) = request.extensions().get::<Arc<Session>>().map(Arc::clone) else {
            return refuse(ErrorCode::InternalError.into());
        };
        if ws::is_upgrade_request(&request) {
            return self.sockets.open(request, session);
        }
        if !is_call {
            return self.pass(request).await;
        }
        let (mut parts, body) = request.into_parts();
        let mut held = session.account().request();
        let body = match tokio::time::timeout(self.body_timeout, collect(body, self.body_limit as usize, &mut held)).await {
            Ok(Ok(body)) => Bytes::from(body),
            Ok(Err(Broken::TooLarge)) => return answers::too_large(self.body_limit).map(Body::new),
            Ok(Err(Broken::NoRoom)) => {
                let busy =
                    Error::Busy { what: "too many requests at once, or answers that are not read", retry_after: Duration::from_secs(1) };
                return refuse(busy.into_object());
            }
            Ok(Err(Broken::Malformed)) => return answers::malformed().map(Body::new),
            Err(_) => return late(),
        };
        match inspect(&body) {
            Finding::NotText => refuse(ErrorCode::ParseError.into()),
            Finding::Invalid => refuse(ErrorCode::InvalidRequest.into()),
            Finding::Pass(bad_ids) => {
                parts.extensions.insert(OverHttp { bad_ids: bad_ids.into() });
                self.pass(Request::from_parts(parts, Body::from(body))).await
            }
        }
    }

    /// Lets jsonrpsee answer, and mends a status: it acknowledges a notification with `null` where nothing should be.
    async fn pass(self, request: Request) -> Response {
        let answered: Result<HttpResponse, _> = self.rpc.build(self.methods, self.stop).call(request).await;
        match answered {
            Ok(response) if response.extensions().get::<NoContent>().is_some() => status(StatusCode::NO_CONTENT, Bytes::new()),
            Ok(response) => response.map(Body::new),
            Err(error) => {
                tracing::error!(%error, "jsonrpsee gave no answer");
                refuse(ErrorCode::InternalError.into())
            }
        }
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
}

/// Reads a body to its end.
async fn collect(mut body: Body, limit: usize, held: &mut Held) -> Result<Vec<u8>, Broken> {
    let mut whole = Vec::new();
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame.map_err(|_| Broken::Malformed)?.into_data() else { continue };
        if data.len() > limit - whole.len() {
            return Err(Broken::TooLarge);
        }
        if !held.grow(data.len()) {
            return Err(Broken::NoRoom);
        }
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
