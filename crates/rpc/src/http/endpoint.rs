use std::collections::HashMap;
use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::response::Response;
use http::request::Parts;
use http::{Extensions, HeaderMap, HeaderValue, Method, StatusCode, header};
use http_body_util::BodyExt;
use jsonrpsee::server::http::{is_json, response as answers};
use jsonrpsee::server::{MethodResponse, Methods, StopHandle, ws};
use jsonrpsee::types::{ErrorCode, ErrorObjectOwned, Id};
use tokio::time::timeout;
use tower::Service;

use super::gzip::{Gzip, takes_gzip};
use super::streams::Streams;
use crate::error::{Code, Error};
use crate::jsonrpc;
use crate::jsonrpc::entry::{OverHttp, Reply};
use crate::jsonrpc::oversize::{IdReader, request_too_large};
use crate::limits::Limits;
use crate::memory::{Arrival, ConnectionMemory, RequestReservation};
use crate::middleware::{Middleware, Rules, middleware};
use crate::session::access::Access;
use crate::session::auth::{Principal, Session};
use crate::session::logins::Logins;
use crate::table::invoker::MethodInvoker;
use crate::websocket::Sockets;
use hero_access as access;

/// A body that is too large is read up to this multiple of the limit.
const SKIP_FACTOR: usize = 32;
/// The time for which the body of a request is still read after its headers were refused.
const REFUSED_BODY_TIMEOUT: Duration = Duration::from_secs(5);

/// Answers requests to `/`: calls in bodies and upgrades to WebSockets. Also answers requests whose path is a subscription.
///
/// jsonrpsee does not read the bodies, because it would keep a body in memory as long as its call takes, which may be an hour.
#[derive(Clone)]
pub(crate) struct Endpoint {
    middleware: Arc<Middleware>,
    sockets: Arc<Sockets>,
    streams: Arc<Streams>,
    access: Access,
    logins: Arc<Logins>,
    gzip: Gzip,
    body_limit: u32,
    batch_limit: u32,
    time_limit: Duration,
}

impl Endpoint {
    /// Returns an endpoint for `methods` whose connections end in order at `stop`. `texts` names the text parameters of each subscription.
    pub(crate) fn new(
        methods: Methods,
        rules: Arc<Rules>,
        (access, logins): (Access, Logins),
        gzip: Gzip,
        texts: HashMap<&'static str, Vec<String>>,
        limits: &Limits,
        stop: StopHandle,
    ) -> Self {
        let middleware =
            Arc::new(middleware(&rules, MethodInvoker::without_subscriptions(methods.clone(), limits.response_bytes as usize)));
        let sockets = Arc::new(Sockets::new(methods.clone(), Arc::clone(&rules), limits.clone(), stop.clone()));
        let streams = Arc::new(Streams::new(methods, texts, rules, limits.clone(), stop));
        let time_limit = limits.handler_timeout.duration();
        Self {
            middleware,
            sockets,
            streams,
            access,
            logins: Arc::new(logins),
            gzip,
            body_limit: limits.request_bytes,
            batch_limit: limits.batch,
            time_limit,
        }
    }

    async fn answer(self, request: Request) -> Response {
        let (session, request) = match self.enter(request).await {
            Ok(entered) => entered,
            Err(response) => return response,
        };
        if request.uri().path() != "/" {
            return self.streams.open(request, session).await;
        }
        if ws::is_upgrade_request(&request) {
            let session = session.of_socket(!self.access.is_open());
            return self.sockets.open(request, Arc::new(session));
        }
        if request.method() != Method::POST {
            return not_allowed();
        }
        if !may_be_json(request.headers()) {
            return answers::unsupported_content_type().map(Body::new);
        }
        let takes_gzip = takes_gzip(request.headers());
        match self.read(&session, request).await {
            Ok((_, body, reservation)) => self.call(session, body, reservation, takes_gzip).await,
            Err(response) => response,
        }
    }

    /// Returns the session of the caller of a request, or the response that refuses it.
    pub(super) async fn enter(&self, request: Request) -> Result<(Arc<Session>, Request), Response> {
        let Some(session) = request.extensions().get::<Arc<Session>>().map(Arc::clone) else {
            return Err(refuse(ErrorCode::InternalError.into()));
        };
        let logged_in = self.access.log_in(&session, request.headers()).await;
        self.logins.note(&session, request.headers(), logged_in.as_deref());
        let most = self.body_limit as usize;
        let session = match logged_in {
            Ok(session) => session,
            Err(error) => {
                // The caller before may have had a login.
                session.set_known(false);
                return Err(dismissed(unauthorized(error), request.into_body(), most, session.connection()));
            }
        };
        session.set_known(self.access.is_open() || !matches!(session.principal(), Principal::Anonymous));
        Ok((session, request))
    }

    /// Returns the head of a request and its body, with the reservation for the body, or the response that refuses it.
    pub(super) async fn read(&self, session: &Arc<Session>, request: Request) -> Result<(Parts, Vec<u8>, RequestReservation), Response> {
        let most = self.body_limit as usize;
        // A client that asks before it sends (`Expect: 100-continue`) learns at once that its body is too large.
        let announced = request.headers().get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<usize>().ok());
        if request.headers().contains_key(header::EXPECT) && announced.is_some_and(|length| length > most) {
            return Err(too_large(self.body_limit, &IdReader::default()));
        }
        let limit = session.request_bytes(self.body_limit) as usize;
        let nobody = || access::Error::Nobody.into();
        if limit < most && announced.is_some_and(|length| length > limit) {
            return Err(dismissed(unauthorized(nobody()), request.into_body(), most, session.connection()));
        }
        let mut reservation = RequestReservation::of(session.connection());
        let mut arrival = Arrival::begin(session.connection(), self.time_limit);
        let (parts, mut body) = request.into_parts();
        let body = match collect(&mut body, limit, &mut arrival, &mut reservation).await {
            Ok(whole) => whole,
            Err(Broken::TooLarge(id_reader)) if limit < most => {
                let refused = refused(nobody(), |error| id_reader.refusal(error, false));
                return Err(dismissed(refused, body, most, session.connection()));
            }
            Err(Broken::TooLarge(mut id_reader)) => {
                skip(&mut body, most, &mut arrival, &mut id_reader).await;
                return Err(too_large(self.body_limit, &id_reader));
            }
            Err(Broken::NoRoom) => {
                let busy = Error::Busy {
                    what: "too many requests at once, or answers that are not read (held_per_address, held)".into(),
                    retry_after: Duration::from_secs(1),
                };
                return Err(refuse(busy.into_object()));
            }
            Err(Broken::Malformed) => return Err(answers::malformed().map(Body::new)),
            Err(Broken::Late) => return Err(late()),
        };
        Ok((parts, body, reservation))
    }

    /// Answers the calls in a body.
    async fn call(self, session: Arc<Session>, body: Vec<u8>, reservation: RequestReservation, takes_gzip: bool) -> Response {
        let mut extensions = Extensions::new();
        extensions.insert(Arc::clone(&session));
        extensions.insert(OverHttp);
        let reservation = Arc::new(reservation);
        extensions.insert(Arc::downgrade(&reservation));
        let mut answer = jsonrpc::answer(&self.middleware, &body, &extensions, self.batch_limit);
        drop(body);
        let in_time = timeout(self.time_limit, &mut answer).await;
        // A call that takes longer has dropped its parameters and waits for a job, or it waits for room and has its own reservation.
        drop(reservation);
        let reply = match in_time {
            Ok(reply) => reply,
            Err(_) => answer.await,
        };
        match reply {
            // The body had only notifications, which have been executed. Some clients treat 204 as an error.
            None => status(StatusCode::OK, Bytes::new()),
            Some(reply) if reply.logged_out => challenge(json(StatusCode::UNAUTHORIZED, reply)),
            Some(reply) => {
                let (counted, takes_gzip) = (reply.counted, takes_gzip && !reply.has_secret);
                let (head, body) = into_json(reply);
                let (response, length) = self.gzip.fill(head, body, takes_gzip).await;
                session.connection().dropped(counted.saturating_sub(length));
                response
            }
        }
    }
}

/// Whether a body should be read as JSON: its headers say so, or they say nothing and it comes from no web page. A page could send such a
/// body without a preflight.
fn may_be_json(headers: &HeaderMap) -> bool {
    is_json(headers.get(header::CONTENT_TYPE)) || !(headers.contains_key(header::CONTENT_TYPE) || headers.contains_key(header::ORIGIN))
}

fn json(code: StatusCode, reply: Reply) -> Response {
    let (mut head, body) = into_json(reply);
    *head.status_mut() = code;
    head.map(|()| Body::from(body))
}

/// Returns the head and the body of a response.
fn into_json(reply: Reply) -> (Response<()>, Bytes) {
    let mut head = Response::new(());
    head.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json; charset=utf-8"));
    (head, String::from(Box::<str>::from(reply.json)).into())
}

/// Refuses a request with an invalid token, by HTTP status and by JSON-RPC error.
pub(super) fn unauthorized(error: Error) -> Response {
    refused(error, |_| None)
}

/// Like [`unauthorized`], but with a reply that has the id of the request, if it is known.
fn refused(error: Error, reply: impl FnOnce(ErrorObjectOwned) -> Option<Reply>) -> Response {
    let code = match error.code() {
        Code::RateLimited => StatusCode::TOO_MANY_REQUESTS,
        Code::StoreUnavailable => StatusCode::SERVICE_UNAVAILABLE,
        Code::InvalidRequest => StatusCode::BAD_REQUEST,
        _ => StatusCode::UNAUTHORIZED,
    };
    let error = error.into_object();
    let mut response = reply(error.clone()).map_or_else(|| refuse(error), |reply| json(code, reply));
    *response.status_mut() = code;
    if code == StatusCode::UNAUTHORIZED { challenge(response) } else { response }
}

/// Adds the header that requests a token.
fn challenge(mut response: Response) -> Response {
    response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    response
}

/// Returns the response to a request that is refused before its body has arrived. The body is read for a while and discarded, because a
/// client that is still sending when its connection is closed may not see the response.
pub(super) fn dismissed(response: Response, mut body: Body, limit: usize, connection: &Arc<ConnectionMemory>) -> Response {
    let mut arrival = Arrival::begin(connection, REFUSED_BODY_TIMEOUT);
    tokio::spawn(async move { skip(&mut body, limit, &mut arrival, &mut IdReader::default()).await });
    response
}

fn too_large(limit: u32, id_reader: &IdReader) -> Response {
    // Over HTTP a response belongs to its request, so even a notification gets one.
    let reply = id_reader.refusal(request_too_large(limit), false).expect("it could have an id yet");
    json(StatusCode::PAYLOAD_TOO_LARGE, reply)
}

fn not_allowed() -> Response {
    let mut response = status(
        StatusCode::METHOD_NOT_ALLOWED,
        Bytes::from_static(
            b"Send calls by POST, or connect a WebSocket (ws://) to this address. /docs has its documents, /openrpc.json its methods.\n",
        ),
    );
    response.headers_mut().insert(header::ALLOW, HeaderValue::from_static("POST"));
    response
}

fn refuse(error: ErrorObjectOwned) -> Response {
    answers::from_method_response(MethodResponse::error(Id::Null, error)).map(Body::new)
}

/// The reason why a body cannot be read.
enum Broken {
    TooLarge(IdReader),
    NoRoom,
    Malformed,
    Late,
}

/// Reads a body to its end, or up to the limit.
async fn collect(body: &mut Body, limit: usize, arrival: &mut Arrival, reservation: &mut RequestReservation) -> Result<Vec<u8>, Broken> {
    let mut whole = Vec::new();
    while let Some(frame) = arrival.next(body.frame()).await.ok_or(Broken::Late)? {
        let Ok(data) = frame.map_err(|_| Broken::Malformed)?.into_data() else { continue };
        if data.len() > limit - whole.len() {
            let mut id_reader = IdReader::default();
            id_reader.read(&whole);
            id_reader.read(&data);
            reservation.clear();
            return Err(Broken::TooLarge(id_reader));
        }
        if !arrival.keep(data.len(), reservation).await {
            return Err(Broken::NoRoom);
        }
        whole.extend_from_slice(&data);
    }
    Ok(whole)
}

/// Reads on for a while after the limit: many clients read an answer only after they have sent everything.
async fn skip(body: &mut Body, limit: usize, arrival: &mut Arrival, id_reader: &mut IdReader) {
    let mut left = limit.saturating_mul(SKIP_FACTOR);
    while let Some(Some(Ok(frame))) = arrival.next(body.frame()).await {
        let Ok(data) = frame.into_data() else { continue };
        arrival.came(data.len());
        id_reader.read(&data);
        left = left.saturating_sub(data.len());
        if left == 0 {
            return;
        }
    }
}

fn late() -> Response {
    status(StatusCode::REQUEST_TIMEOUT, Bytes::from_static(b"The body took too long to arrive.\n"))
}

fn status(status: StatusCode, body: Bytes) -> Response {
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    response
}

impl Service<Request> for Endpoint {
    type Response = Response;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request) -> Self::Future {
        let endpoint = self.clone();
        Box::pin(async move { Ok(endpoint.answer(request).await) })
    }
}
