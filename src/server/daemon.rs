//! The parts of a long-running process: threads, signals, descriptors.

use rustix::fs::Mode;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use super::settings::Settings;
use crate::rpc::Tls;

/// The number of descriptors needed besides client connections: for Redis, files, and two for each engine.
const EXTRA_DESCRIPTORS: u64 = 256;

/// Warns if there are too few descriptors for all connections.
pub(crate) fn warn_of_few_descriptors(settings: &Settings) {
    let allowed = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    let needed = u64::from(settings.max_connections) + EXTRA_DESCRIPTORS;
    if allowed < needed {
        tracing::warn!(
            "max_connections ({}) needs {needed} descriptors and the system allows {allowed}, so some will be refused; raise `ulimit -n` (LimitNOFILE)",
            settings.max_connections
        );
    }
}

/// Returns a token that SIGTERM and SIGINT cancel. A second signal ends the process at once. SIGHUP, sent by closing
/// terminals and by people who want files reread, does not end the process: it reloads `certificate`.
pub(crate) fn shutdown_on_signal(certificate: Option<Tls>) -> anyhow::Result<CancellationToken> {
    let token = CancellationToken::new();
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    let mut hangup = signal(SignalKind::hangup())?;
    tokio::spawn(async move {
        while hangup.recv().await.is_some() {
            let reloaded = match certificate.clone() {
                // Reading the files may block for long.
                Some(tls) => tokio::task::spawn_blocking(move || tls.reload()).await.ok(),
                None => None,
            };
            match reloaded {
                Some(Ok(())) => tracing::info!("SIGHUP: the certificate was read again, and new connections have it"),
                Some(Err(error)) => tracing::error!("SIGHUP: the certificate stays as it was: {error}"),
                None => {
                    tracing::info!(
                        "SIGHUP changes nothing: settings are read at the start, and the log goes to stderr; restart for new settings"
                    );
                }
            }
        }
    });
    let shutdown = token.clone();
    tokio::spawn(async move {
        for round in 0..2 {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
            if round == 0 {
                tracing::info!("shutting down; a second signal ends this process at once");
                shutdown.cancel();
            }
        }
        std::process::exit(1);
    });
    Ok(token)
}

/// Creates the runtime of a server, with one thread less than processors. One processor is left to Redis, and engines
/// have threads of their own. On two processors, a second thread here would cost a fifth of the throughput.
pub(crate) fn runtime() -> std::io::Result<tokio::runtime::Runtime> {
    // Makes files created from here on readable by their owner only.
    rustix::process::umask(Mode::RWXG | Mode::RWXO);
    // Raises the limit of descriptors to the maximum. If that fails, the server warns when it listens.
    let limit = getrlimit(Resource::Nofile);
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
    let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    tokio::runtime::Builder::new_multi_thread().worker_threads(processors.saturating_sub(1).max(1)).enable_all().build()
}
