use std::borrow::Cow;
use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::response::{IntoResponse as _, Response};
use futures_util::stream::unfold;
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use jsonrpsee::server::middleware::rpc::Request as Call;
use jsonrpsee::server::{MethodSink, Methods, StopHandle};
use jsonrpsee::types::Id;
use serde::{Deserialize, Serializer as _};
use serde_json::value::{RawValue, to_raw_value};
use tokio::sync::mpsc;
use tokio::time::{Interval, MissedTickBehavior, interval};

use crate::error::{Code, Error};
use crate::jsonrpc::entry::Entry;
use crate::limits::Limits;
use crate::middleware::{Rules, middleware};
use crate::session::auth::{OpenRequest, Session};
use crate::table::invoker::MethodInvoker;
use hero_access as access;

/// The cursor of `ended`. A client that returns with it is told that nothing follows, and stops.
const ENDED: &str = "ended";
/// The header in which browsers send the id of the last event that they received.
const LAST_EVENT_ID: &str = "last-event-id";
/// The parameter that names the item after which to go on.
const CURSOR: &str = "cursor";
/// The header in which browsers describe how a page will use a response.
const FETCH_MODE: &str = "sec-fetch-mode";
/// The header in which browsers name the site of the page.
const FETCH_SITE: &str = "sec-fetch-site";
/// The event that announces the stop of the server. It has no id, so that a returning client goes on after the last item.
const STOPPING: &str = r#"{"type":"stopping","reason":"the server stops; come back with the id of the last event"}"#;
/// Events are written together, up to this many bytes.
const MAX_WRITE_BYTES: usize = 16 * 1024;

/// Subscriptions over plain HTTP: `GET /subscribe_…` begins one, and its items are server-sent events.
///
/// The call passes the middleware like one on a WebSocket, and the subscription runs in the same way. Its notifications become events here.
pub(super) struct Streams {
    methods: Methods,
    /// The text parameters of each subscription.
    texts: HashMap<&'static str, Vec<String>>,
    rules: Arc<Rules>,
    limits: Limits,
    stop: StopHandle,
}

impl Streams {
    pub(super) fn new(
        methods: Methods,
        texts: HashMap<&'static str, Vec<String>>,
        rules: Arc<Rules>,
        limits: Limits,
        stop: StopHandle,
    ) -> Self {
        Self { methods, texts, rules, limits, stop }
    }

    /// Answers a request for the subscription in its path.
    pub(super) async fn open(&self, request: Request, session: Arc<Session>) -> Response {
        if request.method() != Method::GET {
            return (StatusCode::METHOD_NOT_ALLOWED, [(header::ALLOW, "GET")], "A subscription is followed by GET.\n").into_response();
        }
        if is_embedded(request.headers()) {
            return (StatusCode::FORBIDDEN, "What a subscription gives is no part of a page; use EventSource or fetch.\n").into_response();
        }
        let last = request.headers().get(LAST_EVENT_ID).and_then(|last| last.to_str().ok()).filter(|last| !last.is_empty());
        if last == Some(ENDED) {
            return StatusCode::NO_CONTENT.into_response();
        }
        let method = request.uri().path().trim_start_matches('/').to_owned();
        let params = params(request.uri().query().unwrap_or_default(), last, self.texts.get(&*method).map_or(&[], Vec::as_slice));
        let mut call = Call::owned(method, Some(params), Id::Null);
        call.extensions_mut().insert(Arc::clone(&session));
        match self.begin(call).await {
            Ok(messages) => self.stream(messages, session),
            Err(answer) => refusal(&answer),
        }
    }

    /// Begins a subscription. Returns its items, or the answer with the reason why it cannot begin.
    async fn begin(&self, call: Call<'static>) -> Result<mpsc::Receiver<Box<RawValue>>, Box<RawValue>> {
        let (sender, mut messages) = mpsc::channel(self.limits.send_buffer.max(1) as usize);
        let invoker = MethodInvoker::of_stream(self.methods.clone(), self.limits.response_bytes as usize, MethodSink::new(sender));
        // These are dropped at the return, so the subscription holds the last sender.
        let middleware = middleware(&self.rules, invoker);
        if let Some(reply) = Box::pin(middleware.one(Entry::Call(call))).await {
            return Err(reply.json);
        }
        match messages.recv().await {
            Some(answer) if serde_json::from_str::<Answer<'_>>(answer.get()).is_ok_and(|answer| answer.error.is_none()) => Ok(messages),
            Some(refusal) => Err(refusal),
            None => Err(to_raw_value(&Error::Internal.into_object()).expect("an error can be written")),
        }
    }

    fn stream(&self, messages: mpsc::Receiver<Box<RawValue>>, session: Arc<Session>) -> Response {
        let mut heartbeat = interval(self.limits.ping_interval.duration().max(Duration::from_millis(100)));
        heartbeat.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let open = session.begin();
        let followed = Followed { messages, heartbeat, session, stop: self.stop.clone(), _open: open };
        let events = unfold(Some(followed), |followed| async move {
            let mut followed = followed?;
            let (events, goes_on) = followed.next().await?;
            Some((Ok::<_, Infallible>(events), goes_on.then_some(followed)))
        });
        // These headers stop proxies from caching or buffering the events.
        let headers = [(header::CONTENT_TYPE, "text/event-stream"), (header::CACHE_CONTROL, "no-store, no-transform")];
        (headers, [("x-accel-buffering", "no")], Body::from_stream(events)).into_response()
    }
}

/// A subscription whose items are being sent.
struct Followed {
    messages: mpsc::Receiver<Box<RawValue>>,
    heartbeat: Interval,
    session: Arc<Session>,
    stop: StopHandle,
    /// Marks the connection as in use.
    _open: OpenRequest,
}

impl Followed {
    /// Returns the next bytes to send, and whether more may follow. `None`: the end.
    async fn next(&mut self) -> Option<(Bytes, bool)> {
        let mut events = String::new();
        tokio::select! {
            biased;
            () = self.session.logged_out() => {
                let why = to_raw_value(&Error::from(access::Error::LoggedOut).into_object()).expect("an error can be written");
                write(&mut events, None, Some("failed"), &why);
                return Some((events.into(), false));
            }
            () = self.stop.clone().shutdown() => {
                let why = RawValue::from_string(STOPPING.to_owned()).expect("it is JSON");
                write(&mut events, None, Some("stopping"), &why);
                return Some((events.into(), false));
            }
            message = self.messages.recv() => put(&mut events, &message?),
            // Heartbeats show the client, and the server, that the connection is alive.
            _ = self.heartbeat.tick() => events.push_str(":\n\n"),
        }
        while events.len() < MAX_WRITE_BYTES
            && let Ok(message) = self.messages.try_recv()
        {
            put(&mut events, &message);
        }
        Some((events.into(), true))
    }
}

impl Drop for Followed {
    /// Uncounts the items that are not sent any more, because the connection may go on with other requests.
    fn drop(&mut self) {
        self.messages.close();
        while let Ok(message) = self.messages.try_recv() {
            if let Ok(Notification { params: Sent { result: Some(result), .. } }) = serde_json::from_str(message.get()) {
                self.session.connection().dropped(result.get().len());
            }
        }
    }
}

/// The answer to a subscribe call.
#[derive(Deserialize)]
struct Answer<'a> {
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

/// A notification of a subscription.
#[derive(Deserialize)]
struct Notification<'a> {
    #[serde(borrow)]
    params: Sent<'a>,
}

#[derive(Deserialize)]
struct Sent<'a> {
    #[serde(borrow)]
    result: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

/// The data of an event about an item.
#[derive(Deserialize)]
struct Item<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<Cow<'a, str>>,
    #[serde(borrow)]
    cursor: Option<Cow<'a, str>>,
}

/// Writes a notification as an event. Items have no event name, so that pages receive them as messages; other events have one.
fn put(events: &mut String, message: &RawValue) {
    let Ok(Notification { params: Sent { result, error } }) = serde_json::from_str(message.get()) else { return };
    if let Some(error) = error {
        write(events, None, Some("failed"), error);
    }
    let Some(result) = result else { return };
    match serde_json::from_str(result.get()) {
        Ok(Item { kind: Some(kind), .. }) if kind == "ended" => write(events, Some(ENDED), Some("ended"), result),
        Ok(Item { kind: Some(kind), cursor }) if kind == "lagged" || kind == "began" => {
            write(events, cursor.as_deref(), Some(&kind), result)
        }
        Ok(Item { cursor, .. }) => write(events, cursor.as_deref(), None, result),
        Err(_) => write(events, None, None, result),
    }
}

fn write(events: &mut String, id: Option<&str>, name: Option<&str>, data: &RawValue) {
    let lines = [("id: ", id), ("event: ", name), ("data: ", Some(data.get()))];
    for (field, value) in lines.into_iter().filter_map(|(field, value)| Some((field, value?))) {
        events.extend([field, value, "\n"]);
    }
    events.push('\n');
}

/// Whether a page loads the response as an image, a script, or another part of itself. That needs no permission of the server, so any page
/// could begin subscriptions in this way, though it could not read them. The same holds for a frame or a window if the browser says that
/// another site opens it.
fn is_embedded(headers: &HeaderMap) -> bool {
    let says = |name, words: &[&str]| headers.get(name).is_some_and(|value| words.iter().any(|word| value == word));
    says(FETCH_MODE, &["no-cors"]) || says(FETCH_MODE, &["navigate"]) && says(FETCH_SITE, &["cross-site", "same-site"])
}

/// Returns the parameters in a query, by name: text parameters as they are, others as JSON if they are valid JSON, else as text. Repeated
/// ones are kept, and are refused as in any call. The cursor is that of the last event, if there was one.
fn params(query: &str, last: Option<&str>, texts: &[String]) -> Box<RawValue> {
    let text = |value: &str| to_raw_value(value).expect("a text can be written");
    let read = |name: &str, value: &str| {
        let json = serde_json::from_str::<Box<RawValue>>(value).ok();
        json.filter(|_| !texts.iter().any(|known| known == name)).unwrap_or_else(|| text(value))
    };
    let given = form_urlencoded::parse(query.as_bytes()).filter(|(name, _)| last.is_none() || name != CURSOR);
    let given = given.map(|(name, value)| {
        let value = read(&name, &value);
        (name, value)
    });
    let mut params = Vec::new();
    let all = given.chain(last.map(|last| (CURSOR.into(), text(last))));
    serde_json::Serializer::new(&mut params).collect_map(all).expect("JSON can be written");
    let params = String::from_utf8(params).expect("JSON is text");
    RawValue::from_string(params).expect("it was written as JSON")
}

/// Returns the response to a subscription that cannot begin: the same error as on a WebSocket, with a matching status.
fn refusal(answer: &RawValue) -> Response {
    #[derive(Deserialize)]
    struct Refused {
        error: Coded,
    }
    #[derive(Deserialize)]
    struct Coded {
        code: i32,
    }
    const STATUSES: [(Code, StatusCode); 10] = [
        (Code::InvalidParams, StatusCode::BAD_REQUEST),
        (Code::InvalidRequest, StatusCode::BAD_REQUEST),
        (Code::NotAuthenticated, StatusCode::UNAUTHORIZED),
        (Code::PermissionDenied, StatusCode::FORBIDDEN),
        (Code::JobNotFound, StatusCode::NOT_FOUND),
        (Code::NotFound, StatusCode::NOT_FOUND),
        (Code::RateLimited, StatusCode::TOO_MANY_REQUESTS),
        (Code::QueueFull, StatusCode::TOO_MANY_REQUESTS),
        (Code::TooManySubscriptions, StatusCode::TOO_MANY_REQUESTS),
        (Code::StoreUnavailable, StatusCode::SERVICE_UNAVAILABLE),
    ];
    let code = serde_json::from_str(answer.get()).map_or(Code::Internal.number(), |refused: Refused| refused.error.code);
    let known = STATUSES.iter().find(|(known, _)| known.number() == code);
    let status = known.map_or(StatusCode::INTERNAL_SERVER_ERROR, |(_, status)| *status);
    let mut response = (status, [(header::CONTENT_TYPE, "application/json; charset=utf-8")], answer.get().to_owned()).into_response();
    if status == StatusCode::UNAUTHORIZED {
        response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_is_parameters_by_name() {
        let job = "00000000-0000-4000-8000-000000000000";
        let texts = ["job_id", CURSOR].map(str::to_owned);
        for (query, last, expected) in [
            (String::new(), None, "{}".to_owned()),
            (format!("job_id={job}&context_id=5"), None, format!(r#"{{"job_id":"{job}","context_id":5}}"#)),
            ("cursor=17".into(), None, r#"{"cursor":"17"}"#.into()),
            ("cursor=17&flow_id=2".into(), Some("18"), r#"{"flow_id":2,"cursor":"18"}"#.into()),
            ("filter=%7B%22name%22%3A%22a+b%22%7D".into(), None, r#"{"filter":{"name":"a b"}}"#.into()),
            // The reader of all parameters refuses a repeated one.
            ("a=b&a=c&d".into(), None, r#"{"a":"b","a":"c","d":""}"#.into()),
            ("cursor=1&a=2&cursor=3".into(), Some("4"), r#"{"a":2,"cursor":"4"}"#.into()),
            ("job_id=1234&context_id=1234".into(), None, r#"{"job_id":"1234","context_id":1234}"#.into()),
            ("job_id=true&filter=true".into(), None, r#"{"job_id":"true","filter":true}"#.into()),
            ("filter={\"a\":1,\"a\":2}".into(), None, r#"{"filter":{"a":1,"a":2}}"#.into()),
        ] {
            assert_eq!(params(&query, last, &texts).get(), expected, "{query}");
        }
    }

    #[test]
    fn an_item_is_an_event_whose_id_is_its_cursor() {
        let sent = |result: &str| {
            let mut events = String::new();
            put(&mut events, &RawValue::from_string(format!(r#"{{"params":{{"subscription":"s",{result}}}}}"#)).unwrap());
            events
        };
        assert_eq!(sent(r#""result":{"type":"line","cursor":"1-2"}"#), "id: 1-2\ndata: {\"type\":\"line\",\"cursor\":\"1-2\"}\n\n");
        assert_eq!(
            sent(r#""result":{"type":"lagged","cursor":"3"}"#),
            "id: 3\nevent: lagged\ndata: {\"type\":\"lagged\",\"cursor\":\"3\"}\n\n"
        );
        assert_eq!(sent(r#""result":{"type":"ended"}"#), "id: ended\nevent: ended\ndata: {\"type\":\"ended\"}\n\n");
        assert_eq!(sent(r#""result":7"#), "data: 7\n\n");
        assert_eq!(sent(r#""error":{"code":1004}"#), "event: failed\ndata: {\"code\":1004}\n\n");
    }
}
