//! Prepares a start before anything runs. `--check` does all of it as well, and starts nothing that stays.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context as _;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::engines::Engines;
use super::settings::{LayoutName, Resolved, Settings};
use super::stores::{connect, private};
use super::{audit_log, confinement, exposure, logging, node_key, object_schemas, token_key};
use crate::dispatch::Schemas;
use crate::engine::EngineSettings;
use crate::exit::Usage;
use crate::model::{ScriptType, ServerId};
use crate::process::Spawner;
use crate::process::cgroup::Groups;
use crate::rpc::{self, ServeError, Tls};
use crate::store::Foreseen;

/// The kind of process to start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// A server, whose callers may have tokens.
    Server,
    /// Actors alone, without callers.
    Actors,
}

/// The result of the preparation.
pub(crate) struct Preflight {
    pub(crate) engines: Engines,
    /// The script types of pools that cannot run here, with the reasons.
    pub(crate) absent: BTreeMap<ScriptType, String>,
    pub(crate) schemas: Schemas,
    /// The path of this program.
    pub(crate) hero: PathBuf,
    /// Starts children; kept until the end, because they die with its thread.
    pub(crate) spawner: Spawner,
    /// The confinement of a private Redis, if one is needed.
    pub(crate) of_redis: Option<String>,
}

impl Preflight {
    /// Finds the programs and files that the settings name. Warns of settings without effect and of weak confinement,
    /// and refuses what cannot work.
    pub(crate) async fn find(settings: &Settings, groups: Option<Groups>) -> anyhow::Result<Self> {
        warn_of_layouts(settings);
        let engines = Engines::find(settings).await?;
        let absent = engines.absent(settings);
        for (script_type, why) in &absent {
            tracing::warn!(%script_type, "no actor of this script type is offered here: {why}");
        }
        exposure::ensure_none(settings, &engines)?;
        let schemas = object_schemas::read(&settings.object_schemas)?;
        let hero = std::env::current_exe().context("cannot find this program's own file")?;
        let spawner = Spawner::start().context("cannot start the thread that starts children")?.with_groups(groups);
        let of_redis = if needs_redis(settings) { Some(confinement::of_redis(&spawner, &hero).await?) } else { None };
        Ok(Self { engines, absent, schemas, hero, spawner, of_redis })
    }

    /// Starts and ends an engine of each kind that the pools need. If confinement is required, fails if any is weaker.
    pub(crate) async fn try_engines(&self, settings: &Settings) -> anyhow::Result<()> {
        let of_pool = |(at, pool): (usize, &super::settings::PoolSettings)| {
            let engine = EngineSettings { program: self.engines.of_pool(at)?, ..super::pools::engine_settings(settings, &self.hero) };
            Some((pool.script_type.clone(), engine))
        };
        let all = settings.pools.iter().enumerate().filter_map(of_pool).collect();
        confinement::try_out(&self.spawner, settings, all, self.of_redis.as_deref()).await
    }
}

/// Returns the TLS configuration of the addresses, if the settings name a certificate.
pub(crate) fn tls(settings: &Settings) -> anyhow::Result<Option<Tls>> {
    let (Some(certificate), Some(key)) = (&settings.tls_cert, &settings.tls_key) else { return Ok(None) };
    let read = Tls::read(certificate, key);
    Ok(Some(read.map_err(|error| Usage(format!("tls_cert, tls_key: {error}")))?))
}

/// Whether a served context has no Redis in the settings.
pub(crate) fn needs_redis(settings: &Settings) -> bool {
    settings.contexts.iter().any(|context| settings.redis_of(*context).is_none())
}

/// Warns of settings that have no effect.
fn warn_of_layouts(settings: &Settings) {
    for pool in &settings.pools {
        for (name, names, layout) in [("worker_ids", &pool.worker_ids, LayoutName::Legacy), ("circles", &pool.circles, LayoutName::Rhailib)]
        {
            if names.is_some() && !settings.compat.contains(&layout) {
                tracing::warn!(pool = %pool.script_type, "{name} has no effect, because compat does not name its layout");
            }
        }
    }
}

/// Checks everything that a start needs, and changes nothing. Fails with the error that a start would return. Returns
/// its findings, one per line.
pub(crate) async fn check(resolved: Resolved, purpose: Purpose) -> anyhow::Result<Vec<String>> {
    logging::start(&resolved)?;
    let settings = &resolved.settings;
    let mut found = Vec::new();
    if purpose == Purpose::Server {
        tls(settings)?;
        node_key::nodes(settings)?;
        node_key::key_file(&node_key::key_path(settings)).look::<crate::coordinator::NodeKey>()?;
        if settings.login {
            token_key::key_file(&token_key::path(settings)).look::<crate::access::TokenKey>()?;
        }
    }
    if settings.audit {
        audit_log::look(settings)?;
    }
    // Before there are children, which would be others in its group.
    let groups = confinement::foreseen_groups();
    let preflight = Preflight::find(settings, None).await?;
    preflight.try_engines(settings).await?;
    found.push(format!("engines: one of each pool was started ({})", pools(settings, &preflight)));
    found.push(groups);
    let foreseen = if needs_redis(settings) { Some(private(settings, preflight.hero.clone()).foresee().await?) } else { None };
    match &foreseen {
        Some(Foreseen { program, holder: None }) => {
            found.push(format!("Redis: a private {}, data in {}", program.display(), settings.data.display()));
        }
        Some(Foreseen { program, holder: Some(process) }) => found.push(format!(
            "Redis: a private {}; the hero that runs as process {process} has {} now, and has to end first",
            program.display(),
            settings.data.display()
        )),
        None => {}
    }
    let mut named = settings.clone();
    named.contexts.retain(|context| settings.redis_of(*context).is_some());
    if !named.contexts.is_empty() {
        let (_, redis) = connect(&named, None, &ServerId::new()).await?;
        found.push(format!("Redis: {redis} answers and can be used"));
    }
    if let Err(error) = crate::log_file::LogDirectory::new(&settings.log_dir).look() {
        tracing::warn!("{error}; jobs with a log_path run without their file until it can");
    }
    if purpose == Purpose::Server {
        found.push(addresses(settings, foreseen.and_then(|foreseen| foreseen.holder)).await?);
    }
    preflight.spawner.settled(END_TIMEOUT).await;
    Ok(found)
}

/// Timeout for the tested engines to end.
const END_TIMEOUT: Duration = Duration::from_secs(10);

fn pools(settings: &Settings, preflight: &Preflight) -> String {
    let offered = settings.pools.iter().filter(|pool| !preflight.absent.contains_key(&pool.script_type));
    let mut types: Vec<String> = offered.map(|pool| pool.script_type.to_string()).collect();
    types.dedup();
    if types.is_empty() { "there are none".to_owned() } else { types.join(", ") }
}

/// Checks that the addresses can be bound. An address held by a running hero is no failure: that hero has to end first.
async fn addresses(settings: &Settings, holder: Option<String>) -> anyhow::Result<String> {
    match rpc::try_listen(&settings.listen.addresses).await {
        Ok(addresses) => {
            let all: Vec<String> = addresses.iter().map(ToString::to_string).collect();
            Ok(format!("address: {} can be listened on", all.join(", ")))
        }
        Err(ServeError::Bind { address, cause }) if cause.kind() == std::io::ErrorKind::AddrInUse => {
            if holder.is_some() || answers_as_hero(address).await {
                return Ok(format!("address: a hero listens on {address} now, and has to end first"));
            }
            Err(ServeError::Bind { address, cause }.into())
        }
        Err(error) => Err(error.into()),
    }
}

/// Timeout for a program on an address to answer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(2);

/// Whether the program on an address is a hero without TLS.
async fn answers_as_hero(address: std::net::SocketAddr) -> bool {
    let asking = async {
        let mut stream = TcpStream::connect(address).await?;
        stream.write_all(format!("GET /healthz HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n").as_bytes()).await?;
        let mut said = Vec::new();
        stream.take(4096).read_to_end(&mut said).await?;
        std::io::Result::Ok(said.starts_with(b"HTTP/1.1 200") && said.ends_with(b"\r\n\r\nok\n"))
    };
    tokio::time::timeout(ANSWER_TIMEOUT, asking).await.is_ok_and(|said| said.unwrap_or(false))
}
