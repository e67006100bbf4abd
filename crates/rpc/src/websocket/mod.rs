//! WebSockets: converts frames to calls, and answers and items to frames.
//!
//! jsonrpsee has a loop of its own for this. But that loop reads on even if its peer reads nothing, keeps any number of requests in memory,
//! and accepts frames that are not masked. Methods and subscriptions still run in jsonrpsee.

mod frame;
mod writer;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::body::Body;
use axum::extract::Request;
use axum::response::Response;
use futures_util::StreamExt;
use futures_util::stream;
use http::{Extensions, StatusCode};
use hyper_util::rt::TokioIo;
use jsonrpsee::server::{BoundedSubscriptions, ConnectionId, MethodSink, Methods, StopHandle};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{Semaphore, broadcast, mpsc};
use tokio_util::task::TaskTracker;

use super::error::Error;
use super::jsonrpc;
use super::limits::Limits;
use super::memory::{ConnectionMemory, RequestReservation};
use super::middleware::{Middleware, Rules, middleware};
use crate::jsonrpc::entry::{PendingAnswer, Reply};
use crate::jsonrpc::oversize::request_too_large;
use crate::session::auth::Session;
use crate::table::invoker::MethodInvoker;
use frame::{Frames, Incoming, MessageLimits, SocketError};
use hero_access as access;
use hero_model::api::{GOING_AWAY, LOGGED_OUT};
use writer::{Control, write};

/// The most messages, mostly refusals, that are answered at once in addition to the calls of a connection. With more, reading pauses.
const MAX_EXTRA_MESSAGES: u32 = 64;
/// The most control frames that wait to be written. With more, the oldest are dropped. These are pongs, and an answer to the latest ping is
/// enough (RFC 6455, 5.5.3).
const MAX_WAITING_CONTROLS: usize = 16;
/// The close code and reason for a connection that was without a login for too long.
const OUTSTAYED: (u16, &str) = (1008, "nobody has logged in on this connection for ten minutes");
/// The time for answering calls that are being executed when their token ends.
const LAST_CALLS_TIMEOUT: Duration = Duration::from_secs(5);
/// The time in which a client that was told to close must do so.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

/// Serves WebSockets.
pub(crate) struct Sockets {
    methods: Methods,
    rules: Arc<Rules>,
    limits: Limits,
    stop: StopHandle,
    opened: AtomicUsize,
}

impl Sockets {
    pub(crate) fn new(methods: Methods, rules: Arc<Rules>, limits: Limits, stop: StopHandle) -> Self {
        Self { methods, rules, limits, stop, opened: AtomicUsize::new(0) }
    }

    /// Answers the handshake, and serves the connection after it.
    pub(crate) fn open(self: &Arc<Self>, request: Request, session: Arc<Session>) -> Response {
        let answer = match soketto::handshake::http::Server::new().receive_request(&request) {
            Ok(answer) => answer,
            Err(error) => {
                let mut refusal = Response::new(Body::from(format!("This is no WebSocket handshake: {error}\n")));
                *refusal.status_mut() = StatusCode::BAD_REQUEST;
                return refusal;
            }
        };
        let sockets = Arc::clone(self);
        tokio::spawn(async move {
            match hyper::upgrade::on(request).await {
                Ok(upgraded) => sockets.serve(TokioIo::new(upgraded), session).await,
                Err(error) => tracing::debug!(%error, "a connection did not become a WebSocket"),
            }
        });
        answer.map(|()| Body::empty())
    }

    async fn serve(&self, io: impl AsyncRead + AsyncWrite + Send + 'static, session: Arc<Session>) {
        let (reader, writer) = tokio::io::split(io);
        let (sender, messages) = mpsc::channel(self.limits.send_buffer.max(1) as usize);
        let (controls, receiver) = broadcast::channel(MAX_WAITING_CONTROLS);
        let ping_interval = self.limits.ping_interval.duration().max(Duration::from_millis(100));
        let writing = tokio::spawn(write(writer, messages, receiver, ping_interval));

        let sink = MethodSink::new(sender);
        let middleware = middleware(
            &self.rules,
            MethodInvoker {
                methods: self.methods.clone(),
                connection: ConnectionId(self.opened.fetch_add(1, Ordering::Relaxed)),
                response_bytes: self.limits.response_bytes as usize,
                subscriptions: BoundedSubscriptions::new(self.limits.subscriptions_per_connection),
                sink: sink.clone(),
            },
        );
        let (caller, most) = (Arc::clone(&session), self.limits.request_bytes);
        let bytes = Box::new(move || caller.request_bytes(most) as usize);
        let limits = MessageLimits { bytes, time: self.limits.handler_timeout.duration() };
        let mut frames = Frames::new(reader, limits, session.connection());
        let socket = Socket {
            session,
            sink,
            middleware: Arc::new(middleware),
            limits: &self.limits,
            silence: ping_interval * 3,
            heard: TaskTracker::new(),
        };
        let end = tokio::select! {
            code = socket.run(&mut frames, &controls, self.stop.clone()) => code.map(|code| (code, "")),
            () = socket.sink.closed() => None, // The writer has ended.
            () = socket.session.connection().ended() => None,
            () = socket.session.logged_out() => Some(LOGGED_OUT),
            () = socket.session.outstayed() => Some(OUTSTAYED),
        };
        let Some((code, why)) = end else {
            writing.abort();
            return;
        };
        if (code, why) == LOGGED_OUT {
            socket.heard.close();
            tokio::select! {
                // Nothing more is read meanwhile, and calls that take longer get no answer.
                _ = tokio::time::timeout(LAST_CALLS_TIMEOUT, socket.heard.wait()) => {}
                () = socket.sink.closed() => {}
                () = socket.session.connection().ended() => {}
            }
        }
        // The writer still runs, and has a deadline. It closes the queue, which ends calls and subscriptions.
        let _ = controls.send(Control::Close(code, why));
        let abort = writing.abort_handle();
        tokio::select! {
            _ = writing => {}
            // The connection may also have to close because others wait for memory.
            () = socket.session.connection().ended() => return abort.abort(),
        }
        // If a connection is closed before everything is read, the system resets it, and the peer may not see the close code.
        let _ = tokio::time::timeout(CLOSE_TIMEOUT, tokio::io::copy(&mut frames.into_inner(), &mut tokio::io::sink())).await;
    }
}

/// One WebSocket.
struct Socket<'a> {
    session: Arc<Session>,
    sink: MethodSink,
    middleware: Arc<Middleware>,
    limits: &'a Limits,
    silence: Duration,
    /// Tracks the messages that are answered although the token has ended.
    heard: TaskTracker,
}

impl Socket<'_> {
    /// Reads and answers messages until the end, and returns the code to close with, if the peer is still there.
    async fn run<R>(&self, frames: &mut Frames<R>, controls: &broadcast::Sender<Control>, stop: StopHandle) -> Option<u16>
    where
        R: AsyncRead + Unpin + Send,
    {
        let most = self.limits.calls_per_connection.saturating_add(MAX_EXTRA_MESSAGES);
        let under_way = Arc::new(Semaphore::new(most as usize));
        let stopped = stop.shutdown();
        let silent = self.silent();
        // Reading a message takes many steps, so the future that reads it must not be dropped in between.
        let incoming = stream::unfold(frames, |frames| async { Some((frames.next().await, frames)) });
        tokio::pin!(stopped, silent, incoming);
        loop {
            let permit = match Arc::clone(&under_way).try_acquire_owned() {
                Ok(permit) => permit,
                Err(_) => tokio::select! {
                    permit = Arc::clone(&under_way).acquire_owned() => {
                        // The server read nothing meanwhile, so the connection must not count as silent.
                        self.session.connection().heard();
                        permit.expect("nobody closes the semaphore")
                    }
                    () = &mut stopped => break,
                },
            };
            let next = tokio::select! {
                next = incoming.next() => next.expect("frames never end, they fail"),
                () = &mut silent => return None,
                () = &mut stopped => break,
            };
            match next {
                Ok(Incoming::Message(message, reservation)) => {
                    let reservation = Arc::new(reservation);
                    let (answer, time_limit) = (self.answer(message, &reservation), self.limits.handler_timeout.duration());
                    tokio::spawn(async move {
                        tokio::pin!(answer);
                        let in_time = tokio::time::timeout(time_limit, &mut answer).await;
                        // A call that takes longer has dropped its parameters and waits for a job, or it waits for room and has its own
                        // reservation.
                        drop(reservation);
                        if in_time.is_err() {
                            answer.await;
                        }
                        drop(permit);
                    });
                }
                Ok(Incoming::TooLarge(most, id_reader)) => {
                    let (sink, connection) = (self.sink.clone(), Arc::clone(self.session.connection()));
                    let limit = self.limits.request_bytes;
                    let error =
                        if most < limit as usize { Error::from(access::Error::Nobody).into_object() } else { request_too_large(limit) };
                    let refusal = id_reader.refusal(error, true);
                    tracing::debug!(peer = %self.session.peer(), answered = refusal.is_some(), "a message was too large");
                    tokio::spawn(async move {
                        send(&sink, &connection, refusal).await;
                        drop(permit);
                    });
                }
                Ok(Incoming::Ping(content)) => drop(controls.send(Control::Pong(content))),
                Ok(Incoming::Pong) => {}
                Ok(Incoming::Close(code)) => return Some(code),
                Err(SocketError::Gone) => return None,
                Err(fault) => {
                    tracing::debug!(%fault, peer = %self.session.peer(), "a WebSocket is closed");
                    return Some(fault.code());
                }
            }
        }
        // Calls under way are answered. New messages are not read any more, except a close.
        tokio::select! {
            _ = under_way.acquire_many(most) => {}
            () = async { while !matches!(incoming.next().await, Some(Ok(Incoming::Close(_)) | Err(_))) {} } => {}
        }
        Some(GOING_AWAY)
    }

    /// Answers a message, unless the connection closes first.
    fn answer(&self, message: Vec<u8>, reservation: &Arc<RequestReservation>) -> impl Future<Output = ()> + Send + use<> {
        let (middleware, sink, batch) = (Arc::clone(&self.middleware), self.sink.clone(), self.limits.batch);
        let connection = Arc::clone(self.session.connection());
        let mut extensions = Extensions::new();
        extensions.insert(Arc::clone(&self.session));
        extensions.insert(Arc::downgrade(reservation));
        let heard = Arc::new(PendingAnswer::new(self.heard.token()));
        extensions.insert(Arc::clone(&heard));
        async move {
            let answer = jsonrpc::answer(&middleware, &message, &extensions, batch);
            drop(message);
            let reply = tokio::select! {
                () = sink.closed() => return,
                reply = answer => reply,
            };
            send(&sink, &connection, reply).await;
            drop(heard);
        }
    }

    /// Returns when nothing has come from the peer for too long.
    async fn silent(&self) {
        self.session.connection().heard();
        loop {
            match self.silence.checked_sub(self.session.connection().silence()) {
                Some(left) if !left.is_zero() => tokio::time::sleep(left).await,
                _ => return,
            }
        }
    }
}

/// Sends an answer, if there is one.
async fn send(sink: &MethodSink, connection: &ConnectionMemory, reply: Option<Reply>) {
    let Some(Reply { json, counted, .. }) = reply else { return };
    // A refusal by middleware has not been counted yet.
    connection.made(json.get().len().saturating_sub(counted));
    // If the peer has disconnected, there is nothing to send.
    let _ = sink.send(json).await;
}
