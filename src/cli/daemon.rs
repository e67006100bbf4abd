//! What a process needs that runs for months: threads, signals, descriptors.

use rustix::fs::Mode;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use super::settings::Settings;

/// Descriptors that are not connections of clients: those to Redis, of files, and two for each engine.
const BESIDES: u64 = 256;

/// Says so if there are not enough descriptors for all connections.
pub(super) fn warn_of_few_descriptors(settings: &Settings) {
    let allowed = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    let needed = u64::from(settings.max_connections) + BESIDES;
    if allowed < needed {
        tracing::warn!(
            "max_connections ({}) needs {needed} descriptors and the system allows {allowed}, so some will be refused; raise `ulimit -n` (LimitNOFILE)",
            settings.max_connections
        );
    }
}

/// A token that SIGTERM and SIGINT cancel. A second signal ends the process at once. SIGHUP is no reason to end: a terminal that
/// closes sends it, and so do those who expect a program to read its settings again.
pub(super) fn shutdown_on_signal() -> anyhow::Result<CancellationToken> {
    let token = CancellationToken::new();
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    let mut hangup = signal(SignalKind::hangup())?;
    tokio::spawn(async move {
        while hangup.recv().await.is_some() {
            tracing::info!("SIGHUP changes nothing: settings are read at the start, and the log goes to stderr; restart for new settings");
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
                tracing::info!("draining; a second signal ends this process at once");
                shutdown.cancel();
            }
        }
        std::process::exit(1);
    });
    Ok(token)
}

/// The threads of a server. One processor is left to Redis, and engines bring threads of their own: on two processors, a second
/// thread here costs a fifth of the throughput in wake-ups.
pub(super) fn runtime() -> std::io::Result<tokio::runtime::Runtime> {
    // Whatever is written from here on is for its owner alone.
    rustix::process::umask(Mode::RWXG | Mode::RWXO);
    // As many descriptors as the system allows. What cannot be raised stays, and who listens says so.
    let limit = getrlimit(Resource::Nofile);
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
    let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    tokio::runtime::Builder::new_multi_thread().worker_threads(processors.saturating_sub(1).max(1)).enable_all().build()
}
