//! The settings of `hero serve` and `hero actor`: flags go before environment variables, then the TOML file, then defaults.
//!
//! [`SETTINGS`] lists every setting, [`Settings`] has their final values, and `resolve.rs` makes the second of the first.

mod consistency;
mod context;
mod context_settings;
mod defaults;
mod grant;
mod listen;
mod nodes;
mod origins;
mod pool;
mod print;
mod resolve;
mod script_type;
mod setting;
mod source;
mod table;
mod value;
mod variables;

use std::path::PathBuf;
use std::time::Duration;

use serde::Deserialize;

use crate::model::{ContextId, Name};
pub use context::ContextEndpoint;
pub use context_settings::ContextSettings;
pub(crate) use defaults::data as default_data;
pub use listen::Listen;
pub(crate) use nodes::nodes;
pub use pool::{Instances, LayoutName, PoolSettings};
pub use resolve::{Invalid, Origin, Resolved, resolve};
pub use script_type::ScriptTypeSettings;
pub use source::Flags;
pub use table::{Default, Kind, SETTINGS, Scope, Setting, markdown};
pub(crate) use value::size_text;
pub use value::{parse_size, parse_time};
pub use variables::misspelt_of_commands;

/// Every setting, with its final value.
#[derive(Debug, Clone, Deserialize)]
pub struct Settings {
    /// Where to listen.
    #[serde(deserialize_with = "value::parsed")]
    pub listen: Listen,
    /// Where the private Redis, logs and secrets are kept; absolute.
    pub data: PathBuf,
    /// Whether callers have to say who they are.
    #[serde(deserialize_with = "value::switch")]
    pub login: bool,
    /// The key with which tokens are hashed; `None` is the one in the data directory.
    #[serde(deserialize_with = "value::maybe")]
    pub token_key_file: Option<PathBuf>,
    /// How long a login by a signature lasts.
    #[serde(deserialize_with = "value::time")]
    pub login_lifetime: Duration,
    /// The certificate with which the server speaks TLS.
    #[serde(deserialize_with = "value::maybe")]
    pub tls_cert: Option<PathBuf>,
    /// The key of that certificate.
    #[serde(deserialize_with = "value::maybe")]
    pub tls_key: Option<PathBuf>,
    /// The key of this node; `None` is the one in the data directory.
    #[serde(deserialize_with = "value::maybe")]
    pub node_key_file: Option<PathBuf>,
    /// The nodes whose messages are taken: `NAME=KEY` each.
    #[serde(deserialize_with = "value::list")]
    pub nodes: Vec<String>,
    /// Where the Redis of nodes is: `NAME=URL` each.
    #[serde(deserialize_with = "value::list")]
    pub node_redis: Vec<String>,
    /// The node of Mycelium on this machine.
    #[serde(deserialize_with = "value::maybe")]
    pub mycelium_url: Option<String>,
    /// Which of its interfaces is used.
    pub mycelium_api: MyceliumApi,
    /// The topic of messages there.
    pub mycelium_topic: String,
    /// How long another node may take to store a job that is sent to it.
    #[serde(deserialize_with = "value::time")]
    pub remote_ack: Duration,
    /// How long it may take then until its result is here.
    #[serde(deserialize_with = "value::time")]
    pub remote_result: Duration,
    /// Whether to listen on any address although nobody has to log in.
    #[serde(deserialize_with = "value::switch")]
    pub insecure: bool,
    /// Web origins besides loopback whose pages may call.
    #[serde(deserialize_with = "value::list")]
    pub allowed_origins: Vec<String>,
    /// Host names besides loopback and the address itself by which this server may be called.
    #[serde(deserialize_with = "value::list")]
    pub allowed_hosts: Vec<String>,
    /// The actors to run.
    #[serde(deserialize_with = "pool::pools")]
    pub pools: Vec<PoolSettings>,
    /// The contexts to serve, in order.
    #[serde(deserialize_with = "context::served")]
    pub contexts: Vec<ContextId>,
    /// How many contexts that were made at run time have actors at once.
    #[serde(deserialize_with = "value::count")]
    pub contexts_running: usize,
    /// What the configuration file says of single contexts.
    #[serde(skip)]
    pub of_contexts: Vec<ContextSettings>,
    /// Contexts with a Redis of their own.
    #[serde(deserialize_with = "context::endpoints")]
    pub context_endpoints: Vec<ContextEndpoint>,
    /// The layouts whose queues pools take from after their own.
    #[serde(deserialize_with = "pool::layout_names")]
    pub compat: Vec<LayoutName>,
    /// Which queues new jobs go to.
    pub push: Push,
    /// Script types to accept although no actor here runs them, and what runs their scripts.
    #[serde(deserialize_with = "script_type::script_types")]
    pub script_types: Vec<ScriptTypeSettings>,
    /// What objects have to fit: `COLLECTION=FILE` each, where the file is a JSON Schema.
    #[serde(deserialize_with = "value::list")]
    pub object_schemas: Vec<String>,
    /// The operator's Redis; `None` starts a private one.
    #[serde(deserialize_with = "value::maybe")]
    pub redis: Option<String>,
    /// The ACL user there.
    #[serde(deserialize_with = "value::maybe")]
    pub redis_user: Option<String>,
    /// The password there, from the setting or from its file.
    #[serde(deserialize_with = "value::maybe")]
    pub redis_password: Option<Secret>,
    /// The file that the password came from.
    #[serde(deserialize_with = "value::maybe")]
    pub redis_password_file: Option<PathBuf>,
    /// The certificate authority of a `rediss://` server.
    #[serde(deserialize_with = "value::maybe")]
    pub redis_tls_ca: Option<PathBuf>,
    /// The client certificate for it.
    #[serde(deserialize_with = "value::maybe")]
    pub redis_tls_cert: Option<PathBuf>,
    /// The key of the client certificate.
    #[serde(deserialize_with = "value::maybe")]
    pub redis_tls_key: Option<PathBuf>,
    /// How many bytes of memory the private Redis may use.
    #[serde(deserialize_with = "value::size")]
    pub redis_max_memory: u64,
    /// When the private Redis syncs to disk.
    pub durability: Durability,
    /// How long a silent actor keeps its job.
    #[serde(deserialize_with = "value::time")]
    pub lease: Duration,
    /// How long running scripts may go on at shutdown.
    #[serde(deserialize_with = "value::time")]
    pub grace: Duration,
    /// How long engines are kept that have nothing to do, but for the first of each pool; zero: as long as the pool.
    #[serde(deserialize_with = "value::time")]
    pub engine_idle: Duration,
    /// How many jobs a queue may have.
    #[serde(deserialize_with = "value::count")]
    pub queue_length: u64,
    /// How many jobs of one context run at once; 0 is no limit.
    #[serde(deserialize_with = "value::count")]
    pub max_running: usize,
    /// How long a finished job is kept.
    #[serde(deserialize_with = "value::time")]
    pub retention_finished: Duration,
    /// How long a finished job of `run_and_wait` is kept.
    #[serde(deserialize_with = "value::time")]
    pub retention_waited: Duration,
    /// How long a job that ended in error is kept.
    #[serde(deserialize_with = "value::time")]
    pub retention_error: Duration,
    /// When a job that nobody starts is stopped.
    #[serde(deserialize_with = "value::time")]
    pub retention_created: Duration,
    /// What happens where the system does not let engines be confined.
    pub confinement: Confinement,
    /// The longest script, in bytes.
    #[serde(deserialize_with = "value::size")]
    pub script_source: u64,
    /// The most bytes of memory a script may use at once.
    #[serde(deserialize_with = "value::size")]
    pub script_memory: u64,
    /// The most operations of a script; 0 is no limit.
    #[serde(deserialize_with = "value::count")]
    pub script_operations: u64,
    /// Whether a script that reads what a map does not have gets an error.
    #[serde(deserialize_with = "value::switch")]
    pub script_strict: bool,
    /// The most bytes a script may log.
    #[serde(deserialize_with = "value::size")]
    pub script_log: u64,
    /// The largest result, in bytes.
    #[serde(deserialize_with = "value::size")]
    pub script_result: u64,
    /// How many bytes the files of a context may have that scripts write.
    #[serde(deserialize_with = "value::size")]
    pub files_quota: u64,
    /// Replace an engine process after this many jobs; 0 never.
    #[serde(deserialize_with = "value::count")]
    pub recycle_jobs: u64,
    /// Replace an engine process after this time; zero never.
    #[serde(deserialize_with = "value::time")]
    pub recycle_age: Duration,
    /// Replace an engine process that uses this many bytes between jobs; 0 never.
    #[serde(deserialize_with = "value::size")]
    pub recycle_memory: u64,
    /// Where the log files of jobs are; absolute.
    pub log_dir: PathBuf,
    /// How many bytes all log files may have together; 0 is no limit.
    #[serde(deserialize_with = "value::size")]
    pub log_quota: u64,
    /// Whether it is recorded who does what.
    #[serde(deserialize_with = "value::switch")]
    pub audit: bool,
    /// Where that is recorded; absolute.
    pub audit_dir: PathBuf,
    /// The key of the records' hashes; `None` is the one in the data directory.
    #[serde(deserialize_with = "value::maybe")]
    pub audit_key_file: Option<PathBuf>,
    /// How long a file of records may be, in bytes.
    #[serde(deserialize_with = "value::size")]
    pub audit_file_size: u64,
    /// How many bytes all of them may have together; 0 is no limit.
    #[serde(deserialize_with = "value::size")]
    pub audit_quota: u64,
    /// Texts to replace in the logs and errors of jobs.
    #[serde(deserialize_with = "value::list")]
    pub mask: Vec<String>,
    /// How hero's own log is written.
    pub log_format: LogFormat,
    /// What hero's own log says, as directives of `tracing_subscriber::EnvFilter`.
    pub log_level: String,
    /// What stands before the keys of conveyor clients.
    #[serde(deserialize_with = "value::maybe")]
    pub conveyor_namespace: Option<Name>,
    /// Connections at once.
    #[serde(deserialize_with = "value::count")]
    pub max_connections: u32,
    /// Connections at once of one address.
    #[serde(deserialize_with = "value::count")]
    pub max_per_address: u32,
    /// Subscriptions of one connection.
    #[serde(deserialize_with = "value::count")]
    pub max_subscriptions: u32,
    /// Calls in one batch.
    #[serde(deserialize_with = "value::count")]
    pub max_batch: u32,
    /// The largest request, in bytes.
    #[serde(deserialize_with = "value::size")]
    pub max_request: u64,
    /// The largest response, in bytes.
    #[serde(deserialize_with = "value::size")]
    pub max_response: u64,
    /// Calls per second of one address; 0 does not limit them.
    #[serde(deserialize_with = "value::count")]
    pub calls_per_second: u32,
    /// Calls at once of one connection.
    #[serde(deserialize_with = "value::count")]
    pub calls_in_flight: u32,
    /// The most bytes in memory for one connection.
    #[serde(deserialize_with = "value::size")]
    pub held_per_connection: u64,
    /// The most bytes in memory for one address.
    #[serde(deserialize_with = "value::size")]
    pub held_per_address: u64,
    /// The most bytes in memory for all connections.
    #[serde(deserialize_with = "value::size")]
    pub held: u64,
}

/// When the private Redis syncs its file to disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Durability {
    /// Each second: a power cut may lose the last two.
    Everysec,
    /// At every write.
    Always,
}

/// Which interface of a Mycelium node is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MyceliumApi {
    /// HTTP.
    Rest,
    /// JSON-RPC.
    JsonRpc,
}

/// What happens where the system does not let engines be confined as far as this version can.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Confinement {
    /// Scripts run, and it is said.
    Preferred,
    /// No script runs.
    Required,
}

/// Which queues new jobs go to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Push {
    /// Our own.
    Canonical,
    /// Our own and the legacy ones.
    Both,
    /// The legacy ones.
    Legacy,
}

/// How hero's own log is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// For people.
    Pretty,
    /// One JSON object a line.
    Json,
}

/// A text that is never shown.
#[derive(Clone, PartialEq, Eq, Deserialize)]
pub struct Secret(String);

impl Secret {
    /// The text itself. Whoever asks takes care of it.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("***")
    }
}

impl std::str::FromStr for Secret {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(Self(text.to_owned()))
    }
}

/// Says that a name is unknown, and which known one it resembles.
fn unknown<'a>(what: &str, name: &str, known: impl Iterator<Item = &'a str>) -> String {
    match nearest(name, known) {
        Some(nearest) => format!("{what} {name} is unknown; did you mean {nearest}?"),
        None => format!("{what} {name} is unknown"),
    }
}

/// The known name that `name` resembles most, if it could be a slip of the finger.
pub(crate) fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let closest = known.map(|other| (strsim::osa_distance(name, other), other)).min_by_key(|(distance, _)| *distance)?;
    (closest.0 <= (name.len() / 4).max(1)).then_some(closest.1)
}
