use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use http::{StatusCode, header};

use super::assistants::AssistantEndpoint;
use super::docs::documents;
use super::endpoint::Endpoint;
use super::fixed::fixed;
use super::gzip::{Gzip, compress};
use super::origin::{OriginCheck, check_origin};
use crate::app::Probes;
use crate::openrpc::document::OpenRpcDocument;
use crate::session::auth::Session;

/// Returns the router of connections beyond the limit, which has only the probes.
pub(crate) fn probes(probes: Probes, allowed: OriginCheck) -> Router {
    const TOO_MANY: &str = "Too many connections; only /healthz, /readyz and /metrics are answered now.\n";
    look(Router::new())
        .with_state(probes)
        .fallback(async || (StatusCode::TOO_MANY_REQUESTS, TOO_MANY))
        .layer(axum::middleware::from_fn_with_state(Arc::new(allowed), check_origin))
}

fn look(router: Router<Probes>) -> Router<Probes> {
    router.route("/healthz", get(async || "ok\n")).route("/readyz", get(readyz)).route("/metrics", get(metrics))
}

/// Returns the router of the port, for allowed origins and hosts.
pub(crate) fn router<'s>(
    endpoint: Endpoint,
    assistants: Option<AssistantEndpoint>,
    probes: Probes,
    document: Arc<OpenRpcDocument>,
    allowed: OriginCheck,
    gzip: Gzip,
    subscriptions: impl Iterator<Item = &'s &'s str>,
) -> Router {
    let document = move |request: Request| async move {
        let address = request.extensions().get::<Arc<Session>>().and_then(|session| session.server_address());
        let packed = async { document.gzip(address.as_ref()).await.map(Bytes::from) };
        fixed(request.headers(), ("application/json", &document.tag(address.as_ref())), document.body(address.as_ref()), packed).await
    };
    let plain = look(Router::new()).with_state(probes).layer(axum::middleware::from_fn_with_state(gzip, compress));
    let described = documents(plain.route("/openrpc.json", get(document)));
    let followed = subscriptions.fold(described, |router, name| router.route_service(&format!("/{name}"), endpoint.clone()));
    let called = followed.route_service("/", endpoint);
    let router = match assistants {
        Some(assistants) => called.route_service("/mcp", assistants),
        None => called,
    };
    router.layer(axum::middleware::from_fn_with_state(Arc::new(allowed), check_origin))
}

async fn readyz(State(probes): State<Probes>) -> Response {
    const READINESS_TIMEOUT: Duration = Duration::from_secs(5);
    match tokio::time::timeout(READINESS_TIMEOUT, (probes.readiness)()).await {
        Ok(Ok(notes)) => {
            [vec!["ready".to_owned()], notes].concat().iter().map(|line| format!("{line}\n")).collect::<String>().into_response()
        }
        Ok(Err(reasons)) => (StatusCode::SERVICE_UNAVAILABLE, format!("{}\n", reasons.join("\n"))).into_response(),
        Err(_) => (StatusCode::SERVICE_UNAVAILABLE, "readiness could not be told within 5 s\n").into_response(),
    }
}

async fn metrics(State(probes): State<Probes>) -> Response {
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4")], (probes.metrics)()).into_response()
}
