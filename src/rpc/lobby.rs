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

/// So many connections too many are heard at once. A newer one takes the place of the oldest of the address that has most of them.
const PLACES: usize = 64;
/// How long one may take in all, which is more than a probe may take.
const PATIENCE: Duration = Duration::from_secs(6);
/// The head of a probe is short.
const HEAD: usize = 8 * 1024;

/// Of connections that are refused the log says something once in this time.
const SILENCE: Duration = Duration::from_secs(60);

/// How many connections were refused since the log last said so, and when that was.
#[derive(Default)]
pub(super) struct Refusals(Mutex<(u64, Option<Instant>)>);

impl Refusals {
    /// Notes that `last` found no place, because of this limit.
    pub(super) fn note(&self, last: SocketAddr, open: usize, limit: &str) {
        let mut noted = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (refused, said) = &mut *noted;
        *refused += 1;
        if said.is_none_or(|said| said.elapsed() >= SILENCE) {
            tracing::warn!(limit, refused = *refused, %last, open, "connections are refused, because all places are taken");
            *noted = (0, Some(Instant::now()));
        }
    }
}

/// Hears connections that found no place, one request each, so that probes are answered even while somebody holds every place.
pub(super) struct Lobby {
    probes: Router,
    present: Mutex<Present>,
}

/// The address of each connection, and its end, oldest first.
#[derive(Default)]
struct Present(VecDeque<(IpAddr, DropGuard)>);

impl Present {
    /// Takes one in. Where there is no room, it is made by whoever takes most of it, so a flood from one address pushes out only itself.
    fn seat(&mut self, address: IpAddr, end: DropGuard) {
        if self.0.len() == PLACES {
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

impl Lobby {
    pub(super) fn new(probes: Router) -> Self {
        Self { probes, present: Mutex::default() }
    }

    /// Answers one request of a connection, and closes it.
    pub(super) fn receive(&self, socket: TcpStream) {
        let out = CancellationToken::new();
        // One that is gone already has no address, and is nobody's.
        let address = socket.peer_addr().map_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED), |peer| peer.ip());
        self.present.lock().unwrap_or_else(PoisonError::into_inner).seat(address, out.clone().drop_guard());
        let service = TowerToHyperService::new(self.probes.clone());
        tokio::spawn(async move {
            let answer = http1::Builder::new().keep_alive(false).max_buf_size(HEAD).serve_connection(TokioIo::new(socket), service);
            tokio::select! {
                // Nobody is told of a probe that broke off.
                _ = tokio::time::timeout(PATIENCE, answer) => {}
                () = out.cancelled() => {}
            }
        });
    }
}
