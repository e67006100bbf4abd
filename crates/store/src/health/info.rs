use std::collections::{BTreeMap, HashMap};
use std::io;
use std::time::Duration;

use redis::ConnectionAddr;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::net::{TcpStream, UnixStream};

use crate::Error;
use crate::network::connection::RedisConnection;
use crate::views::Health;

/// A system that refuses a connection does so within this time.
const REFUSAL_TIMEOUT: Duration = Duration::from_millis(500);

/// Counters of a script type, as the functions keep them.
pub type Counters = BTreeMap<String, u64>;

/// The state of a Redis.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StoreInfo {
    /// Its version.
    pub version: String,
    /// Bytes in use that count against the maximum. Buffers for replicas and for the append-only file do not count.
    pub used_memory: u64,
    /// Bytes it may use; 0 is no limit.
    pub max_memory: u64,
    /// Keys that it evicted for lack of memory. Each may have been a job.
    pub evicted_keys: u64,
    /// Problems of its configuration, and of its operation.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

impl Health<'_> {
    /// Returns the state of Redis.
    pub async fn info(self) -> Result<StoreInfo, Error> {
        let (mut info, overfull) = tokio::try_join!(store_info(&self.0.commands), self.overfull())?;
        info.warnings.extend(overfull);
        Ok(info)
    }

    /// Returns the reason why Redis cannot be reached, if the system reports it at once: it refuses connections, or there is no such
    /// socket.
    pub async fn refusal(self) -> Option<String> {
        let (_, client) = self.0.commands.home().now();
        let address = client.get_connection_info().addr().clone();
        let connecting = async {
            match &address {
                ConnectionAddr::Tcp(host, port) | ConnectionAddr::TcpTls { host, port, .. } => {
                    TcpStream::connect((host.as_str(), *port)).await.map(drop)
                }
                ConnectionAddr::Unix(path) => UnixStream::connect(path).await.map(drop),
                _ => Ok(()),
            }
        };
        let refused = tokio::time::timeout(REFUSAL_TIMEOUT, connecting).await.ok()?.err()?;
        Some(match refused.kind() {
            io::ErrorKind::ConnectionRefused => format!("nobody listens on {address}"),
            io::ErrorKind::NotFound => format!("there is no socket {address}"),
            _ => format!("{address}: {refused}"),
        })
    }

    /// Returns a name for the place of this context's keys, so that two contexts in one place can be told apart.
    pub async fn location(self) -> Result<String, Error> {
        self.0.location().await
    }

    /// Whether Redis answers.
    pub async fn ping(self) -> Result<(), Error> {
        let _: String = self.0.commands.call(&redis::cmd("PING")).await?;
        Ok(())
    }
}

async fn store_info(link: &RedisConnection) -> Result<StoreInfo, Error> {
    let info: String = link.call(&redis::cmd("INFO")).await?;
    let value = |name: &str| info.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).unwrap_or_default();
    let number = |name| value(name).parse().unwrap_or(0);
    let mut warnings: Vec<String> = eviction_warning(value("maxmemory_policy")).into_iter().collect();
    if number("evicted_keys") > 0 {
        warnings.push(format!("Redis threw {} keys away for want of memory; jobs may have been lost", number("evicted_keys")));
    }
    Ok(StoreInfo {
        version: if value("valkey_version").is_empty() {
            value("redis_version").to_owned()
        } else {
            format!("valkey {}", value("valkey_version"))
        },
        used_memory: crate::health::memory::used(&info),
        max_memory: number("maxmemory"),
        evicted_keys: number("evicted_keys"),
        warnings,
    })
}

/// Returns a warning about an eviction policy, if the policy is known.
fn eviction_warning(policy: &str) -> Option<String> {
    let throws_away = !matches!(policy, "" | "noeviction");
    throws_away.then(|| format!("Redis throws keys away when memory is short (maxmemory-policy {policy}): jobs can vanish; set noeviction"))
}

/// Refuses a server that cannot do what the protocol needs. Returns warnings about an unwise set-up.
pub(crate) async fn check(link: &RedisConnection) -> Result<Vec<String>, Error> {
    let info: String = link.call(redis::cmd("INFO").arg("server")).await?;
    let version = info.lines().find_map(|line| line.strip_prefix("redis_version:")).unwrap_or_default().trim().to_owned();
    let mut parts = version.split('.').map(|part| part.parse::<u32>().unwrap_or(0));
    if (parts.next().unwrap_or(0), parts.next().unwrap_or(0)) < (7, 0) {
        return Err(Error::Unsuitable(format!(
            "this Redis says it is version {version:?}; hero needs Redis 7.0 or newer, or Valkey (apt-get install redis-server)"
        )));
    }
    let known: Vec<redis::Value> = link.call(redis::cmd("COMMAND").arg("INFO").arg("fcall").arg("blmove")).await?;
    if known.len() < 2 || known.iter().any(|command| matches!(command, redis::Value::Nil)) {
        return Err(Error::Unsuitable(
            "this server has no FCALL or no BLMOVE, so it is not a real Redis; install redis-server or valkey-server".into(),
        ));
    }
    // A server that is still loading its data answers all commands above, but not this one.
    let _: String = link.call(&redis::cmd("PING")).await?;
    Ok(store_info(link).await?.warnings)
}

/// Returns a warning about an unwise set-up of a cluster.
pub(crate) async fn cluster_warning(link: &RedisConnection) -> Option<String> {
    // A user who may not read the configuration gets no warning.
    let found: HashMap<String, String> = link.call(redis::cmd("CONFIG").arg("GET").arg("cluster-require-full-coverage")).await.ok()?;
    (found.values().next()? == "yes").then(|| {
        "when one node of the cluster fails, no context is served until its replica has taken over; \
         set cluster-require-full-coverage no"
            .to_owned()
    })
}
