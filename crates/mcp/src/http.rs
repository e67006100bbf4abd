use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::response::{IntoResponse as _, Response};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, StatusCode, header};
use http_body_util::Full;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::lazy_client::LazyClient;
use super::message::IncomingMessage;
use super::running::Running;
use super::{Assistant, Connect};
use hero_client::{Client, Error};
use hero_rpc::{Assistants, Visit};
use hero_service::away;

/// Identifies the client of a request.
const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
/// Maximum length of that name. Names from this server are shorter.
const MAX_SESSION_BYTES: usize = 128;

/// The interval at which something is sent to a waiting client, to detect whether it is still there.
const KEEP_ALIVE: Duration = Duration::from_secs(5);

/// Returns the handler of `/mcp`.
///
/// The SDK keeps no sessions here: each request is served by itself, so no state remains of a client that is gone.
/// Still, each client gets a name, by which its cancellations find its calls. Only the running calls are kept under
/// that name.
pub fn assistants() -> Assistants {
    let running = Arc::<Running>::default();
    Arc::new(move |request, visit| Box::pin(answer(request, visit, Arc::clone(&running))))
}

async fn answer(request: Request<Bytes>, visit: Visit, running: Arc<Running>) -> Response {
    // The SDK refuses requests that are not messages, or not JSON by their content type.
    let is_message = request.method() == Method::POST && is_json(request.headers());
    let body = request.body().clone();
    let read = move || {
        if is_message {
            IncomingMessage::read(&body).map(|said| (said, IncomingMessage::exact(body)))
        } else {
            Ok((IncomingMessage::default(), body))
        }
    };
    let (said, body) = match away(request.body().len(), read).await {
        Some(Ok(read)) => read,
        Some(Err(wrong)) => return wrong.into_response(),
        None => return StatusCode::SERVICE_UNAVAILABLE.into_response(),
    };
    let named = request.headers().get(&SESSION).filter(|name| name.len() <= MAX_SESSION_BYTES).and_then(|name| name.to_str().ok());
    // The name need not be secret: it is combined with the caller, so nobody can name the calls of another caller.
    let client: Option<Arc<str>> = named.map(|name| format!("{} {name}", visit.caller().unwrap_or_default()).into());
    if let (Some(client), Some(id)) = (&client, &said.cancels) {
        running.cancel(&(Some(Arc::clone(client)), id.clone()));
    }
    let serves = move || {
        let visit = visit.clone();
        let connect: Connect = Arc::new(move || Box::pin(Client::on(visit.connect())));
        let link = Arc::new(LazyClient::new(connect));
        Ok(Assistant {
            link,
            advice,
            running: Arc::clone(&running),
            client: client.clone(),
            over_http: true,
            input: CancellationToken::new(),
        })
    };
    // Hosts and origins were checked before.
    let config = StreamableHttpServerConfig::default().with_legacy_session_mode(false).disable_allowed_hosts().disable_allowed_origins();
    let config = config.with_max_request_body_bytes(usize::MAX).with_sse_keep_alive(Some(KEEP_ALIVE));
    let service = StreamableHttpService::new(serves, Arc::new(NeverSessionManager::default()), config);
    let mut response = service.handle(request.map(|_| Full::<Bytes>::new(body))).await.map(Body::new);
    if is_message && response.status() == StatusCode::UNSUPPORTED_MEDIA_TYPE {
        return said.unreadable().into_response();
    }
    if said.method == "initialize"
        && response.status() == StatusCode::OK
        && let Ok(name) = HeaderValue::from_str(&Uuid::new_v4().to_string())
    {
        response.headers_mut().insert(SESSION, name);
    }
    response
}

/// Returns advice for a failed connection within this process.
fn advice(error: &Error) -> Option<String> {
    Some(match error {
        Error::LoggedOut { method: Some(_), .. } => {
            "the token that this client shows has ended: check whether the call was carried out before you repeat it; started jobs continue"
                .to_owned()
        }
        Error::LoggedOut { .. } => "the token that this client shows has ended; started jobs continue".to_owned(),
        Error::Closed(_) => "the server may be stopping: try again in a moment; started jobs continue".to_owned(),
        _ => return None,
    })
}

/// True if the content type of a body is JSON.
fn is_json(headers: &HeaderMap) -> bool {
    let given = headers.get(header::CONTENT_TYPE).and_then(|given| given.to_str().ok());
    given.and_then(|given| given.split(';').next()).is_some_and(|media_type| media_type.trim().eq_ignore_ascii_case("application/json"))
}
