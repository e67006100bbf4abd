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
use http_body_util::{BodyExt, LengthLimitError, Limited};
use jsonrpsee::server::http::{is_json, response as answers};
use jsonrpsee::server::middleware::rpc::RpcServiceBuilder;
use jsonrpsee::server::{
    BatchRequestConfig, HttpResponse, MethodResponse, Methods, PingConfig, RandomStringIdProvider, Server, ServerConfig, StopHandle,
    TowerServiceBuilder, ws,
};
use jsonrpsee::types::{ErrorCode, Id};
use tower::Service;
use tower::layer::util::{Identity, Stack};

use super::inspect::{Finding, inspect};
use crate::rpc::layers::{Layers, NoContent, OverHttp, Rules};
use crate::rpc::limits::Limits;

/// What stands at `/`: jsonrpsee, behind a look at the bodies that it reads wrong.
#[derive(Clone)]
pub(in crate::rpc) struct Front {
    rpc: TowerServiceBuilder<Stack<Layers, Identity>, Identity>,
    methods: Methods,
    stop: StopHandle,
    body_limit: u32,
    body_timeout: Duration,
}

impl Front {
    /// A front for `methods` whose connections end in order once `stop` says so.
    pub(in crate::rpc) fn new(methods: Methods, rules: Arc<Rules>, limits: &Limits, stop: StopHandle) -> Self {
        let interval = limits.ping_interval.duration().max(Duration::from_millis(100));
        let pings = PingConfig::new().ping_interval(interval).inactive_limit(interval * 3).max_failures(1);
        let config = ServerConfig::builder()
            .max_request_body_size(limits.request_bytes)
            .max_response_body_size(limits.response_bytes)
            .max_connections(limits.connections)
            .max_subscriptions_per_connection(limits.subscriptions_per_connection)
            .set_batch_request_config(BatchRequestConfig::Limit(limits.batch))
            .set_message_buffer_capacity(limits.send_buffer.max(1))
            .enable_ws_ping(pings)
            .set_id_provider(RandomStringIdProvider::new(16))
            .build();
        let rpc = Server::builder().set_config(config).set_rpc_middleware(RpcServiceBuilder::new().layer(Layers(rules)));
        let body_timeout = limits.handler_timeout.duration();
        Self { rpc: rpc.to_service_builder(), methods, stop, body_limit: limits.request_bytes, body_timeout }
    }

    async fn answer(self, request: Request) -> Response {
        let is_call = request.method() == Method::POST && is_json(request.headers().get(header::CONTENT_TYPE));
        if ws::is_upgrade_request(&request) || !is_call {
            return self.pass(request).await;
        }
        let (mut parts, body) = request.into_parts();
        let body = match tokio::time::timeout(self.body_timeout, Limited::new(body, self.body_limit as usize).collect()).await {
            Ok(Ok(body)) => body.to_bytes(),
            Ok(Err(error)) if error.is::<LengthLimitError>() => return answers::too_large(self.body_limit).map(Body::new),
            Ok(Err(_)) => return answers::malformed().map(Body::new),
            Err(_) => return late(),
        };
        match inspect(&body) {
            Finding::NotText => refuse(ErrorCode::ParseError),
            Finding::Invalid => refuse(ErrorCode::InvalidRequest),
            Finding::Pass(bad_ids) => {
                parts.extensions.insert(OverHttp { bad_ids: bad_ids.into() });
                self.pass(Request::from_parts(parts, Body::from(body))).await
            }
        }
    }

    /// Lets jsonrpsee answer, and mends two statuses: it acknowledges a notification with `null` where nothing should be, and
    /// calls a WebSocket handshake that failed a success.
    async fn pass(self, request: Request) -> Response {
        let is_upgrade = ws::is_upgrade_request(&request);
        let answered: Result<HttpResponse, _> = self.rpc.build(self.methods, self.stop).call(request).await;
        match answered {
            Ok(response) if response.extensions().get::<NoContent>().is_some() => status(StatusCode::NO_CONTENT, Bytes::new()),
            Ok(mut response) => {
                if is_upgrade && response.status() == StatusCode::OK {
                    *response.status_mut() = StatusCode::BAD_REQUEST;
                }
                response.map(Body::new)
            }
            Err(error) => {
                tracing::error!(%error, "jsonrpsee gave no answer");
                refuse(ErrorCode::InternalError)
            }
        }
    }
}

fn refuse(code: ErrorCode) -> Response {
    answers::from_method_response(MethodResponse::error(Id::Null, code)).map(Body::new)
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
