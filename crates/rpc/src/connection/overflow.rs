use std::collections::{HashMap, VecDeque};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpStream;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::addresses::counted;
use crate::server::tls::Tls;

/// The most connections beyond the limit that are served at once. With more, the oldest one of the address that has most of them is closed.
const MAX_CONNECTIONS: usize = 64;
/// The time limit of such a connection, which is longer than a probe may take.
const CONNECTION_TIMEOUT: Duration = Duration::from_secs(6);
/// The most bytes of the head of a request. The head of a probe is short.
const MAX_HEAD_BYTES: usize = 8 * 1024;

/// The shortest interval between log lines about refused connections.
const LOG_INTERVAL: Duration = Duration::from_secs(60);

/// The number of refused connections since the last log line, and the time of that line.
#[derive(Default)]
pub(crate) struct Refusals(Mutex<(u64, Option<Instant>)>);

impl Refusals {
    /// Records that the connection `last` was refused because of this limit.
    pub(crate) fn note(&self, last: SocketAddr, open: usize, limit: &str) {
        let mut noted = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (refused, said) = &mut *noted;
        *refused += 1;
        if said.is_none_or(|said| said.elapsed() >= LOG_INTERVAL) {
            tracing::warn!(limit, refused = *refused, %last, open, "connections are refused, because as many are open as may be");
            *noted = (0, Some(Instant::now()));
        }
    }
}

/// Serves connections beyond the limit: one request each, and only probes. So probes are answered even while all connections are in use.
pub(crate) struct Overflow {
    probes: Router,
    tls: Option<Tls>,
    open: Mutex<Open>,
}

/// The open connections, the oldest first: the address of each, and a guard that closes it when dropped.
#[derive(Default)]
struct Open(VecDeque<(IpAddr, DropGuard)>);

impl Open {
    /// Adds a connection. If there are too many, one of the address that has most is closed, so a flood from one address harms only that
    /// address.
    fn add(&mut self, address: IpAddr, end: DropGuard) {
        if self.0.len() == MAX_CONNECTIONS {
            let mut counts = HashMap::<IpAddr, usize>::new();
            self.0.iter().for_each(|(of, _)| *counts.entry(*of).or_default() += 1);
            let most = counts.values().max().copied();
            if let Some(at) = self.0.iter().position(|(of, _)| counts.get(of).copied() == most) {
                self.0.remove(at);
            }
        }
        self.0.push_back((address, end));
    }
}

impl Overflow {
    pub(crate) fn new(probes: Router, tls: Option<Tls>) -> Self {
        Self { probes, tls, open: Mutex::default() }
    }

    /// Answers one request of a connection, and closes it.
    pub(crate) fn serve(&self, socket: TcpStream) {
        let closed = CancellationToken::new();
        // A connection that has already broken has no address any more.
        let address = socket.peer_addr().map_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED), |peer| counted(peer.ip()));
        self.open.lock().unwrap_or_else(PoisonError::into_inner).add(address, closed.clone().drop_guard());
        let (service, tls) = (TowerToHyperService::new(self.probes.clone()), self.tls.clone());
        let mut http = http1::Builder::new();
        http.keep_alive(false).max_buf_size(MAX_HEAD_BYTES);
        tokio::spawn(async move {
            // A probe that broke off needs no log line.
            let answer = async {
                match tls {
                    None => drop(http.serve_connection(TokioIo::new(socket), service).await),
                    Some(tls) => {
                        if let Some(stream) = tls.accept(socket).await {
                            drop(http.serve_connection(TokioIo::new(stream), service).await);
                        }
                    }
                }
            };
            tokio::select! {
                _ = tokio::time::timeout(CONNECTION_TIMEOUT, answer) => {}
                () = closed.cancelled() => {}
            }
        });
    }
}
