//! The settings of `hero serve` and `hero actor`. Flags take precedence over environment variables, then the TOML file,
//! then defaults.
//!
//! [`SETTINGS`] lists every setting, [`Settings`] has their final values, and `resolve.rs` computes the values.

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
    /// The addresses to listen on.
    #[serde(deserialize_with = "value::parsed")]
    pub listen: Listen,
    /// The absolute path of the directory for the private Redis, logs and secrets.
    pub data: PathBuf,
    /// Whether callers must log in.
    #[serde(deserialize_with = "value::switch")]
    pub login: bool,
    /// The key that hashes tokens; `None` is the one in the data directory.
    #[serde(deserialize_with = "value::maybe")]
    pub token_key_file: Option<PathBuf>,
    /// The lifetime of a login by a signature.
    #[serde(deserialize_with = "value::time")]
    pub login_lifetime: Duration,
    /// The TLS certificate of the server.
    #[serde(deserialize_with = "value::maybe")]
    pub tls_cert: Option<PathBuf>,
    /// The key of that certificate.
    #[serde(deserialize_with = "value::maybe")]
    pub tls_key: Option<PathBuf>,
    /// The key of this node; `None` is the one in the data directory.
    #[serde(deserialize_with = "value::maybe")]
    pub node_key_file: Option<PathBuf>,
    /// The nodes whose messages are accepted: `NAME=KEY` each.
    #[serde(deserialize_with = "value::list")]
    pub nodes: Vec<String>,
    /// The Redis of nodes: `NAME=URL` each.
    #[serde(deserialize_with = "value::list")]
    pub node_redis: Vec<String>,
    /// The node of Mycelium on this machine.
    #[serde(deserialize_with = "value::maybe")]
    pub mycelium_url: Option<String>,
    /// The interface of Mycelium to use.
    pub mycelium_api: MyceliumApi,
    /// The Mycelium topic of messages.
    pub mycelium_topic: String,
    /// Timeout for another node to store a job that is sent to it.
    #[serde(deserialize_with = "value::time")]
    pub remote_ack: Duration,
    /// Timeout for its result after that.
    #[serde(deserialize_with = "value::time")]
    pub remote_result: Duration,
    /// Whether to listen on any address although callers need not log in.
    #[serde(deserialize_with = "value::switch")]
    pub insecure: bool,
    /// Web origins besides loopback whose pages may call the server.
    #[serde(deserialize_with = "value::list")]
    pub allowed_origins: Vec<String>,
    /// Host names besides loopback and the address itself under which the server may be called.
    #[serde(deserialize_with = "value::list")]
    pub allowed_hosts: Vec<String>,
    /// The actors to run.
    #[serde(deserialize_with = "pool::pools")]
    pub pools: Vec<PoolSettings>,
    /// The contexts to serve, in order.
    #[serde(deserialize_with = "context::served")]
    pub contexts: Vec<ContextId>,
    /// The maximum number of contexts made at run time that have actors at once.
    #[serde(deserialize_with = "value::count")]
    pub contexts_running: usize,
    /// The configuration of single contexts.
    #[serde(skip)]
    pub of_contexts: Vec<ContextSettings>,
    /// Contexts with a Redis of their own.
    #[serde(deserialize_with = "context::endpoints")]
    pub context_endpoints: Vec<ContextEndpoint>,
    /// The layouts whose queues pools take from after their own.
    #[serde(deserialize_with = "pool::layout_names")]
    pub compat: Vec<LayoutName>,
    /// The queues that new jobs go to.
    pub push: Push,
    /// Script types to accept even if no actor here runs them, with their programs.
    #[serde(deserialize_with = "script_type::script_types")]
    pub script_types: Vec<ScriptTypeSettings>,
    /// The JSON Schemas of objects: `COLLECTION=FILE` each.
    #[serde(deserialize_with = "value::list")]
    pub object_schemas: Vec<String>,
    /// The operator's Redis; `None` starts a private one.
    #[serde(deserialize_with = "value::maybe")]
    pub redis: Option<String>,
    /// The ACL user.
    #[serde(deserialize_with = "value::maybe")]
    pub redis_user: Option<String>,
    /// The password, from the setting or from its file.
    #[serde(deserialize_with = "value::maybe")]
    pub redis_password: Option<Secret>,
    /// The file that the password came from.
    #[serde(deserialize_with = "value::maybe")]
    pub redis_password_file: Option<PathBuf>,
    /// The certificate authority of a `rediss://` server.
    #[serde(deserialize_with = "value::maybe")]
    pub redis_tls_ca: Option<PathBuf>,
    /// The client certificate for a `rediss://` server.
    #[serde(deserialize_with = "value::maybe")]
    pub redis_tls_cert: Option<PathBuf>,
    /// The key of the client certificate.
    #[serde(deserialize_with = "value::maybe")]
    pub redis_tls_key: Option<PathBuf>,
    /// The maximum memory of the private Redis, in bytes.
    #[serde(deserialize_with = "value::size")]
    pub redis_max_memory: u64,
    /// When the private Redis syncs to disk.
    pub durability: Durability,
    /// Time after which the job of a silent actor goes to another.
    #[serde(deserialize_with = "value::time")]
    pub lease: Duration,
    /// The grace period of running scripts at shutdown.
    #[serde(deserialize_with = "value::time")]
    pub grace: Duration,
    /// Idle time after which an engine ends, except the first of each pool; zero keeps engines as long as the pool.
    #[serde(deserialize_with = "value::time")]
    pub engine_idle: Duration,
    /// The maximum number of jobs in a queue.
    #[serde(deserialize_with = "value::count")]
    pub queue_length: u64,
    /// The maximum number of jobs of one context that run at once; 0 is no limit.
    #[serde(deserialize_with = "value::count")]
    pub max_running: usize,
    /// Time for which a finished job is kept.
    #[serde(deserialize_with = "value::time")]
    pub retention_finished: Duration,
    /// Time for which a finished job of `run_and_wait` is kept.
    #[serde(deserialize_with = "value::time")]
    pub retention_waited: Duration,
    /// Time for which a job that ended in error is kept.
    #[serde(deserialize_with = "value::time")]
    pub retention_error: Duration,
    /// Time after which a job that was created but not started is stopped.
    #[serde(deserialize_with = "value::time")]
    pub retention_created: Duration,
    /// The behaviour if the system does not offer full confinement of engines.
    pub confinement: Confinement,
    /// The maximum size of a script, in bytes.
    #[serde(deserialize_with = "value::size")]
    pub script_source: u64,
    /// The maximum memory of a script at once, in bytes.
    #[serde(deserialize_with = "value::size")]
    pub script_memory: u64,
    /// The maximum number of operations of a script; 0 is no limit.
    #[serde(deserialize_with = "value::count")]
    pub script_operations: u64,
    /// Whether reading a missing key of a map is an error of the script.
    #[serde(deserialize_with = "value::switch")]
    pub script_strict: bool,
    /// The maximum size of a script's log, in bytes.
    #[serde(deserialize_with = "value::size")]
    pub script_log: u64,
    /// The maximum size of a result, in bytes.
    #[serde(deserialize_with = "value::size")]
    pub script_result: u64,
    /// The maximum size of the files that the scripts of a context write, in bytes.
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
    /// The absolute path of the directory for log files of jobs.
    pub log_dir: PathBuf,
    /// The maximum size of all log files together, in bytes; 0 is no limit.
    #[serde(deserialize_with = "value::size")]
    pub log_quota: u64,
    /// Whether to write an audit log.
    #[serde(deserialize_with = "value::switch")]
    pub audit: bool,
    /// The absolute path of the directory for the audit log.
    pub audit_dir: PathBuf,
    /// The key of the audit log's hashes; `None` is the one in the data directory.
    #[serde(deserialize_with = "value::maybe")]
    pub audit_key_file: Option<PathBuf>,
    /// The maximum size of a file of the audit log, in bytes.
    #[serde(deserialize_with = "value::size")]
    pub audit_file_size: u64,
    /// The maximum size of all files of the audit log together, in bytes; 0 is no limit.
    #[serde(deserialize_with = "value::size")]
    pub audit_quota: u64,
    /// Texts to replace in the logs and errors of jobs.
    #[serde(deserialize_with = "value::list")]
    pub mask: Vec<String>,
    /// The format of hero's own log.
    pub log_format: LogFormat,
    /// The filter of hero's own log, as directives of `tracing_subscriber::EnvFilter`.
    pub log_level: String,
    /// The prefix of the keys of conveyor clients.
    #[serde(deserialize_with = "value::maybe")]
    pub conveyor_namespace: Option<Name>,
    /// The maximum number of connections.
    #[serde(deserialize_with = "value::count")]
    pub max_connections: u32,
    /// The maximum number of connections per address.
    #[serde(deserialize_with = "value::count")]
    pub max_per_address: u32,
    /// The maximum number of subscriptions per connection.
    #[serde(deserialize_with = "value::count")]
    pub max_subscriptions: u32,
    /// The maximum number of calls in one batch.
    #[serde(deserialize_with = "value::count")]
    pub max_batch: u32,
    /// The maximum size of a request, in bytes.
    #[serde(deserialize_with = "value::size")]
    pub max_request: u64,
    /// The maximum size of a response, in bytes.
    #[serde(deserialize_with = "value::size")]
    pub max_response: u64,
    /// The maximum number of calls per second and address; 0 is no limit.
    #[serde(deserialize_with = "value::count")]
    pub calls_per_second: u32,
    /// The maximum number of concurrent calls per connection.
    #[serde(deserialize_with = "value::count")]
    pub calls_in_flight: u32,
    /// The maximum memory for the requests and answers of one connection, in bytes.
    #[serde(deserialize_with = "value::size")]
    pub held_per_connection: u64,
    /// The maximum memory for the requests and answers of one address, in bytes.
    #[serde(deserialize_with = "value::size")]
    pub held_per_address: u64,
    /// The maximum memory for the requests and answers of all connections, in bytes.
    #[serde(deserialize_with = "value::size")]
    pub held: u64,
}

/// When the private Redis syncs its file to disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Durability {
    /// Every second: a power cut may lose the last two seconds.
    Everysec,
    /// At every write.
    Always,
}

/// The interface of a Mycelium node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MyceliumApi {
    /// HTTP.
    Rest,
    /// JSON-RPC.
    JsonRpc,
}

/// The behaviour if the system does not offer all steps of confinement that this version knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Confinement {
    /// Scripts run, and the log warns.
    Preferred,
    /// No script runs.
    Required,
}

/// The queues that new jobs go to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Push {
    /// Our own queues.
    Canonical,
    /// Our own and the legacy queues.
    Both,
    /// The legacy queues.
    Legacy,
}

/// The format of hero's own log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// For people to read.
    Pretty,
    /// One JSON object per line.
    Json,
}

/// A text that is never shown.
#[derive(Clone, PartialEq, Eq, Deserialize)]
pub struct Secret(String);

impl Secret {
    /// Returns the text itself. The caller must take care of it.
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

/// Formats the message for an unknown name, with the known name that it resembles.
fn unknown<'a>(what: &str, name: &str, known: impl Iterator<Item = &'a str>) -> String {
    match nearest(name, known) {
        Some(nearest) => format!("{what} {name} is unknown; did you mean {nearest}?"),
        None => format!("{what} {name} is unknown"),
    }
}

/// Returns the known name that `name` resembles most, if it could be a typing error.
pub(crate) fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let closest = known.map(|other| (strsim::osa_distance(name, other), other)).min_by_key(|(distance, _)| *distance)?;
    (closest.0 <= (name.len() / 4).max(1)).then_some(closest.1)
}
