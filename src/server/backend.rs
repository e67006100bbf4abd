//! The parts shared by `hero serve` and `hero actor`: Redis, the dispatcher, its loops, and the pools.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, bail};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::audit_log;
use super::compilers::compiler;
use super::confinement;
use super::engines::Engines;
use super::hosting::{Follower, Hosting, Rotation};
use super::pools::{PoolStarter, known_types};
use super::preflight::{Preflight, Purpose, needs_redis};
use super::readiness::ReadinessCheck;
use super::settings::{Confinement, Settings};
use super::stores::{connect, private};
use super::token_key;
use super::trimmer::Trimmer;
use crate::access::{self, Authority, TokenKey};
use crate::audit::Audit;
use crate::dispatch::{self, Dispatcher, Schemas};
use crate::log_file::LogDirectory;
use crate::model::{ContextId, ScriptType, ServerId};
use crate::process::Spawner;
use crate::service::{self, Service};
use crate::store::Managed;

/// Everything that runs below the RPC server.
pub(crate) struct Backend {
    pub(crate) dispatcher: Dispatcher,
    pub(crate) authority: Authority,
    /// The audit log.
    pub(crate) audit: Audit,
    pub(crate) server: ServerId,
    pub(crate) hosting: Hosting,
    /// A description of the Redis in use, for messages.
    pub(crate) redis: String,
    /// The script types of pools that cannot run here, with the reasons.
    pub(crate) absent: BTreeMap<ScriptType, String>,
    managed: Option<Managed>,
    /// Ends the pools.
    pub(crate) shutdown: CancellationToken,
    /// Ends the loops, after the pools.
    closing: CancellationToken,
    services: TaskTracker,
    grace: Duration,
    /// Kept until the end, because children die with the thread that started them.
    spawner: Spawner,
}

/// A signal arrived while the private Redis was starting, before anything else ran. It is no failure.
#[derive(Debug, thiserror::Error)]
#[error("ended while the private Redis was starting")]
pub(crate) struct EndedAtStart;

/// Timeout for cleaning up after ended engines at shutdown.
const CLEANUP_TIMEOUT: Duration = Duration::from_secs(10);
/// Timeout for the actors to become ready.
const READY_TIMEOUT: Duration = Duration::from_secs(30);

impl Backend {
    /// Starts everything. Returns when every pool has an actor that can run a job.
    pub(crate) async fn open(settings: &Settings, purpose: Purpose, shutdown: CancellationToken) -> anyhow::Result<Self> {
        let preflight = Preflight::find(settings, confinement::groups().await?).await?;
        if settings.confinement == Confinement::Required {
            preflight.try_engines(settings).await?;
        }
        let Preflight { engines, absent, schemas, hero, spawner, of_redis } = preflight;
        let managed = match needs_redis(settings) {
            true => Some(tokio::select! {
                started = Managed::start(&spawner, private(settings, hero.clone())) => started?,
                () = shutdown.cancelled() => return Err(EndedAtStart.into()),
            }),
            false => None,
        };
        let mut backend = match Self::assemble(settings, purpose, schemas, absent, managed.as_ref(), spawner, shutdown).await {
            Ok(backend) => backend,
            Err(error) => {
                if let Some(managed) = managed {
                    managed.stop().await;
                }
                return Err(error);
            }
        };
        backend.managed = managed;
        if let Err(error) = backend.start_pools(settings, engines, hero).await {
            backend.close().await;
            return Err(error);
        }
        if let Err(error) = LogDirectory::new(&settings.log_dir).prepare() {
            tracing::warn!("{error}; jobs with a log_path run without their file until it can");
        }
        confinement::tell(settings, &backend.hosting.pools(), of_redis.as_deref());
        Ok(backend)
    }

    async fn assemble(
        settings: &Settings,
        purpose: Purpose,
        schemas: Schemas,
        absent: BTreeMap<ScriptType, String>,
        managed: Option<&Managed>,
        spawner: Spawner,
        shutdown: CancellationToken,
    ) -> anyhow::Result<Self> {
        let (server, audit) = (ServerId::new(), audit_log::open(settings)?);
        let (stores, redis) = connect(settings, managed, &server).await?;
        let mut of_dispatch = dispatch::Settings::new(LogDirectory::new(&settings.log_dir));
        of_dispatch.script_types = known_types(settings);
        of_dispatch.absent = absent.clone();
        of_dispatch.log_quota = settings.log_quota;
        of_dispatch.audit = audit.clone();
        of_dispatch.schemas = Arc::new(schemas);
        let longest = |context: &ContextId| usize::try_from(settings.within(*context).script_source).unwrap_or(usize::MAX);
        of_dispatch.longest_scripts = settings.contexts.iter().map(|context| (*context, longest(context))).collect();
        let dispatcher = Dispatcher::new(stores.clone(), of_dispatch);
        let authority = Authority::with_logins_of(stores.clone(), token_key(settings, purpose)?, settings.login_lifetime);
        dispatcher.set_callers(authority.clone());
        let elsewhere = settings.context_endpoints.iter().map(|endpoint| endpoint.context).collect();
        authority.list_own(&elsewhere).await.context("cannot list the contexts")?;
        if purpose == Purpose::Server {
            authority.set_login(settings.login).await.context("cannot note whether callers log in")?;
        }
        authority.found_own().await;
        authority.follow().await.context("cannot read who may do what")?;
        // Started only now: schedules check whether their creators may create jobs.
        let closing = CancellationToken::new();
        let services = TaskTracker::new();
        let loops = dispatcher.start_services(&closing);
        services.spawn(async move { loops.wait().await });
        services.spawn(service::run(access::RightsWatch::new(authority.clone()), closing.clone()));
        let hosting = Hosting::new(Arc::new(settings.clone()), dispatcher.clone(), authority.clone(), shutdown.clone(), closing.clone());
        hosting.explain_waits();
        for store in stores {
            hosting.host(store, true);
        }
        services.close();
        Ok(Self {
            dispatcher,
            authority,
            audit,
            server,
            hosting,
            redis,
            absent,
            managed: None,
            shutdown,
            closing,
            services,
            grace: settings.grace,
            spawner,
        })
    }

    async fn start_pools(&mut self, settings: &Settings, engines: Engines, hero: PathBuf) -> anyhow::Result<()> {
        let (dispatcher, spawner) = (self.dispatcher.clone(), self.spawner.clone());
        self.hosting.start_pools_with(PoolStarter::new(
            Arc::new(settings.clone()),
            engines,
            hero,
            spawner,
            dispatcher,
            self.audit.clone(),
            self.authority.clone(),
        )?);
        for context in &settings.contexts {
            self.hosting.run_pools(*context).await?;
        }
        let pools = self.hosting.pools();
        self.dispatcher.compile_with(compiler(&self.spawner, &pools));
        let ready = async {
            while pools.iter().any(|entry| entry.pool.status.live() == 0) && !self.shutdown.is_cancelled() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        if tokio::time::timeout(READY_TIMEOUT, ready).await.is_err() {
            bail!("the engines of a pool did not start within {} s; the log says why", READY_TIMEOUT.as_secs());
        }
        self.run(Trimmer::default());
        self.serve_made_contexts().await
    }

    /// Serves the contexts that are made at run time, from now on. They are listed in context 0, so a process that does
    /// not serve context 0 knows of none.
    async fn serve_made_contexts(&self) -> anyhow::Result<()> {
        if self.dispatcher.contexts().opened(ContextId(0)).is_err() {
            return Ok(());
        }
        self.dispatcher.contexts().open_with(self.hosting.opener());
        self.run(Follower::new(self.hosting.clone()));
        self.run(Rotation::new(self.hosting.clone())?);
        Ok(())
    }

    /// Starts checking whether this server is ready, for `/readyz` and for the log.
    pub(crate) fn check_readiness(&self) -> ReadinessCheck {
        let check = ReadinessCheck::new(self.dispatcher.clone(), self.audit.clone(), self.hosting.clone());
        self.run(check.clone());
        check
    }

    /// Runs a loop until the shutdown. [`Self::close`] waits for its end.
    pub(crate) fn run(&self, service: impl Service) {
        self.services.spawn(service::run(service, self.shutdown.clone()));
    }

    /// Ends the pools: running scripts get the grace period, then callers that still wait get answers.
    pub(crate) async fn end_pools(&self) {
        self.shutdown.cancel();
        let jobs = self.hosting.jobs();
        if jobs > 0 {
            let grace = self.grace.as_secs_f64();
            let run = if jobs == 1 { "1 job runs here and has".to_owned() } else { format!("{jobs} jobs run here and have") };
            tracing::info!("shutting down: {run} {grace} s to end; what has not ended then runs again");
        }
        if tokio::time::timeout(self.grace + Duration::from_secs(10), self.hosting.ended()).await.is_err() {
            tracing::warn!("a pool did not end in time; its jobs come back when their leases are over");
        }
        self.dispatcher.close();
    }

    /// Ends everything in an order that loses nothing: the pools, the loops, and last a private Redis.
    pub(crate) async fn close(self) {
        self.end_pools().await;
        self.closing.cancel();
        let ended = async { tokio::join!(self.services.wait(), self.hosting.closed()) };
        if tokio::time::timeout(Duration::from_secs(5), ended).await.is_err() {
            tracing::warn!("a loop did not end in time");
        }
        self.audit.close().await;
        if let Some(managed) = self.managed {
            managed.stop().await;
        }
        self.spawner.settled(CLEANUP_TIMEOUT).await;
    }
}

/// Returns the key of tokens. Without login, or without callers, it may be a temporary one.
fn token_key(settings: &Settings, purpose: Purpose) -> anyhow::Result<TokenKey> {
    match (purpose, settings.login) {
        (Purpose::Actors, _) => Ok(TokenKey::random()),
        (Purpose::Server, true) => token_key::read(settings),
        (Purpose::Server, false) => Ok(token_key::read(settings).unwrap_or_else(|error| {
            tracing::debug!("tokens that are made now will be worth nothing later: {error:#}");
            TokenKey::random()
        })),
    }
}
