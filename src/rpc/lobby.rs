use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpStream;
use tokio_util::sync::{CancellationToken, DropGuard};

/// So many connections too many are heard at once. A newer one takes the place of the oldest.
const PLACES: usize = 64;
/// How long one may take in all, which is more than a probe may take.
const PATIENCE: Duration = Duration::from_secs(6);
/// The head of a probe is short.
const HEAD: usize = 8 * 1024;

/// Hears connections that found no place, one request each, so that probes are answered even while somebody holds every place.
pub(super) struct Lobby {
    probes: Router,
    /// The end of each, oldest first.
    present: Mutex<VecDeque<DropGuard>>,
}

impl Lobby {
    pub(super) fn new(probes: Router) -> Self {
        Self { probes, present: Mutex::default() }
    }

    /// Answers one request of a connection, and closes it.
    pub(super) fn receive(&self, socket: TcpStream) {
        let out = CancellationToken::new();
        {
            let mut present = self.present.lock().unwrap_or_else(PoisonError::into_inner);
            if present.len() == PLACES {
                present.pop_front();
            }
            present.push_back(out.clone().drop_guard());
        }
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
