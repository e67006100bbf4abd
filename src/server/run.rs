//! Runs a server, or pools alone.

use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::backend::{Backend, EndedAtStart};
use super::context_pool::ContextPool;
use super::daemon::{shutdown_on_signal, warn_of_few_descriptors};
use super::gauges::{self, Gauges, Metrics};
use super::preflight::{self, Purpose};
use super::settings::{Resolved, Settings};
use super::{logging, message_loops, node_key, ready_line};
use crate::coordinator::{KnownNodes, Messages, NodeKey, Pinger, Runners, Wakes};
use crate::model::Timestamp;
use crate::rpc::{self, Access, App, Guard, Limits, PoolDetails, Probes, Readiness, ServerDetails, ServerSettings, Serving, Tls};

/// The name of the operator's socket, in the data directory.
pub(crate) const OPERATOR_SOCKET: &str = "hero.sock";
/// Timeout for connections to receive their last answers.
const LAST_ANSWERS: Duration = Duration::from_secs(5);

/// Serves with these settings until a signal ends it. Passes its ready line to `ready` once callers get answers.
pub(crate) async fn server(resolved: Resolved, ready: impl FnOnce(&str) -> anyhow::Result<()>) -> anyhow::Result<()> {
    logging::start(&resolved)?;
    let settings = resolved.settings;
    warn_of_few_descriptors(&settings);
    // A metric belongs to the recorder installed when the metric is created, so the recorder comes first.
    let metrics = gauges::collect()?;
    let tls = preflight::tls(&settings)?;
    let shutdown = shutdown_on_signal(tls.clone())?;
    let backend = match Backend::open(&settings, Purpose::Server, shutdown.clone()).await {
        Err(error) if error.is::<EndedAtStart>() => {
            tracing::info!("{error}");
            return Ok(());
        }
        opened => opened?,
    };
    let (wakes, closing) = (Wakes::default(), CancellationToken::new());
    let started = node_key::node_key(&settings)
        .and_then(|key| Ok((key.clone(), message_loops::start(&settings, &backend, key, wakes.clone(), &closing)?)));
    let (key, message_loops) = match started {
        Ok(started) => started,
        Err(error) => {
            backend.close().await;
            return Err(error);
        }
    };
    let served = serve(&settings, &backend, (metrics, tls), (&key, message_loops.pinger()), wakes, shutdown).await;
    let end_message_loops = async || {
        closing.cancel();
        if tokio::time::timeout(LAST_ANSWERS, message_loops.ended()).await.is_err() {
            tracing::warn!("a loop that sends messages did not end in time");
        }
    };
    match served {
        Ok(serving) => {
            let url = format!("{}://{}", if settings.tls_cert.is_some() { "wss" } else { "ws" }, serving.local_addr());
            ready(&ready_line::line(&url, &backend.redis, &settings.pools, &settings.contexts, &backend.absent))?;
            backend.shutdown.cancelled().await;
            backend.end_pools().await;
            // The last answers need Redis, so it ends after them.
            serving.drained(LAST_ANSWERS).await;
            end_message_loops().await;
            backend.close().await;
            Ok(())
        }
        Err(error) => {
            end_message_loops().await;
            backend.close().await;
            Err(error)
        }
    }
}

/// Runs the pools of these settings until a signal ends them. Passes their ready line to `ready`.
pub(crate) async fn actors(resolved: Resolved, ready: impl FnOnce(&str) -> anyhow::Result<()>) -> anyhow::Result<()> {
    logging::start(&resolved)?;
    let settings = resolved.settings;
    let shutdown = shutdown_on_signal(None)?;
    let backend = Backend::open(&settings, Purpose::Actors, shutdown.clone()).await?;
    // There is no `/readyz` here, but the log reports an unreachable Redis.
    drop(backend.check_readiness());
    ready(&ready_line::actors(&backend.redis, &settings.pools, &settings.contexts, &backend.absent))?;
    shutdown.cancelled().await;
    backend.close().await;
    Ok(())
}

async fn serve(
    settings: &Settings,
    backend: &Backend,
    (metrics, tls): (Metrics, Option<Tls>),
    (key, pinger): (&NodeKey, Pinger),
    wakes: Wakes,
    shutdown: CancellationToken,
) -> anyhow::Result<Serving> {
    let pools = backend.hosting.pools();
    for store in backend.dispatcher.contexts().stores() {
        let of_context = pools.iter().filter(|entry| entry.context == store.context());
        let pools = of_context.map(|entry| (entry.pool.settings.script_type.clone(), entry.pool.status.clone())).collect();
        backend.run(Gauges::new(store.clone(), pools, metrics.clone()));
    }
    let check = backend.check_readiness();
    let readiness = move || -> Pin<Box<dyn Future<Output = Readiness> + Send>> {
        let check = check.clone();
        Box::pin(async move { check.look().await })
    };
    let details = ServerDetails {
        server_id: backend.server.to_string(),
        started_at: Timestamp::local(),
        started: Instant::now(),
        listen: Vec::new(),
        contexts: settings.contexts.clone(),
        node_key: Some(key.public()),
        pools: pools.iter().map(|entry| details(entry)).collect(),
        limits: Limits::default(),
    };
    let known = KnownNodes::new(&node_key::nodes(settings)?, settings.mycelium_url.is_some());
    let app = App {
        dispatcher: backend.dispatcher.clone(),
        authority: backend.authority.clone(),
        runners: Runners::new(backend.dispatcher.clone()).with_known_nodes(known.clone()),
        messages: Messages::new(backend.dispatcher.clone(), wakes).with_known_nodes(known).with_pinger(pinger),
        probes: Probes { readiness: Arc::new(readiness), metrics: Arc::new(move || metrics.render()) },
        details: Arc::new(details),
        drain: drain(backend, shutdown.clone()),
    };
    let access =
        if settings.login { Access::Login(Guard::new(backend.authority.clone(), backend.dispatcher.clone())) } else { Access::Open };
    let of_wire = ServerSettings { audit: backend.audit.clone(), ..server_settings(settings, access, tls) };
    Ok(rpc::serve(of_wire, app, shutdown).await?)
}

/// Returns the function that drains the server: it ends once all running jobs have ended. A further call can only
/// shorten the patience.
fn drain(backend: &Backend, shutdown: CancellationToken) -> rpc::Drain {
    let hosting = backend.hosting.clone();
    // `None` until a drain begins.
    let latest: watch::Sender<Option<tokio::time::Instant>> = watch::Sender::new(None);
    Arc::new(move |patience| {
        let asked = tokio::time::Instant::now() + patience;
        let mut is_new = false;
        latest.send_if_modified(|latest| {
            is_new = latest.is_none();
            let is_sooner = latest.is_none_or(|latest| asked < latest);
            if is_sooner {
                *latest = Some(asked);
            }
            is_sooner
        });
        let jobs = hosting.drain();
        if is_new {
            tracing::info!(jobs, ?patience, "this server drains: it takes no jobs, and ends when those that run here have ended");
            let (hosting, shutdown, mut latest) = (hosting.clone(), shutdown.clone(), latest.subscribe());
            let over = async move {
                loop {
                    let until = *latest.borrow_and_update();
                    let until = until.unwrap_or_else(tokio::time::Instant::now);
                    tokio::select! {
                        () = tokio::time::sleep_until(until) => return,
                        Ok(()) = latest.changed() => {}
                    }
                }
            };
            tokio::spawn(async move {
                tokio::select! {
                    () = hosting.left() => {}
                    () = over => tracing::warn!("jobs still run although the time of the drain is over"),
                    () = shutdown.cancelled() => {}
                }
                shutdown.cancel();
            });
        }
        jobs
    })
}

fn details(entry: &ContextPool) -> PoolDetails {
    let settings = &entry.pool.settings;
    let actors = u32::try_from(entry.pool.registrations.len()).unwrap_or(u32::MAX);
    PoolDetails { script_type: settings.script_type.clone(), group: settings.group.clone(), context_id: entry.context, actors }
}

fn server_settings(settings: &Settings, access: Access, tls: Option<Tls>) -> ServerSettings {
    let bytes = |bytes: u64| u32::try_from(bytes).unwrap_or(u32::MAX);
    let limits = Limits {
        calls_per_second: settings.calls_per_second,
        calls_per_connection: settings.calls_in_flight,
        batch: settings.max_batch,
        request_bytes: bytes(settings.max_request),
        response_bytes: bytes(settings.max_response),
        subscriptions_per_connection: settings.max_subscriptions,
        held_per_connection: settings.held_per_connection,
        held_per_address: settings.held_per_address,
        held: settings.held,
        connections: settings.max_connections,
        connections_per_address: settings.max_per_address,
        ..Limits::default()
    };
    ServerSettings {
        listen: settings.listen.addresses.clone(),
        limits,
        allowed_origins: settings.allowed_origins.clone(),
        // The name in the `listen` setting is an allowed host, too.
        allowed_hosts: settings.allowed_hosts.iter().chain(&settings.listen.name).cloned().collect(),
        insecure: settings.insecure,
        tls,
        operator_socket: (!access.is_open()).then(|| settings.data.join(OPERATOR_SOCKET)),
        access,
        assistants: Some(crate::mcp::assistants()),
        ..ServerSettings::default()
    }
}
