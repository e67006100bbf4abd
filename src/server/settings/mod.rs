//! The settings of `hero serve` and `hero actor`. Flags take precedence over environment variables, then the TOML file,
//! then defaults.
//!
//! [`SETTINGS`] lists every setting, and [`Settings`] has their final values. Both are made of the list in this file;
//! `resolve.rs` computes the values.

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
mod value;
mod variables;

use std::path::PathBuf;
use std::time::Duration;

use serde::Deserialize;

use self::Default::{Computed, Is, Limit};
use self::Kind::{Contexts, Endpoints, List, One, Pools, Switch, Types};
use self::Scope::{Both, Server};
use crate::model::{ContextId, Name, nearest};
pub use context::ContextEndpoint;
pub use context_settings::ContextSettings;
pub(crate) use defaults::data as default_data;
pub use listen::Listen;
pub(crate) use nodes::nodes;
pub use pool::{Instances, LayoutName, PoolSettings};
pub use resolve::{Invalid, Origin, Resolved, resolve};
pub use script_type::ScriptTypeSettings;
use setting::settings;
pub use setting::{Default, Kind, Scope, Setting, markdown};
pub use source::Flags;
pub use variables::misspelt_of_commands;

settings! {
    /// The address or name to listen on. A name such as localhost:8700 means all its addresses; port 0 takes a free port
    #[serde(deserialize_with = "value::parsed")]
    listen: Listen = One("ADDR"), Is("127.0.0.1:8700"), Server;
    /// The directory for the private Redis, logs and secrets
    data: PathBuf = One("DIR"), Computed("$XDG_DATA_HOME/hero, else ~/.local/share/hero"), Both;
    /// Require callers to log in with a token. Create the first identity and its token through the socket DATA/hero.sock
    #[serde(deserialize_with = "value::switch")]
    login: bool = Switch, Is("false"), Server;
    /// The key that hashes tokens, by default token.key in the data directory. Created if missing; must be the same on all servers of one Redis
    #[serde(deserialize_with = "value::maybe")]
    token_key_file: Option<PathBuf> = One("FILE"), Default::None, Server;
    /// Lifetime of a login by a signature, and of its token
    #[serde(deserialize_with = "value::time")]
    login_lifetime: Duration = One("TIME"), Is("24h"), Server;
    /// Serve TLS (https://, wss://) with this certificate (PEM, with the chain up to its authority). SIGHUP reloads it
    #[serde(deserialize_with = "value::maybe")]
    tls_cert: Option<PathBuf> = One("FILE"), Default::None, Server;
    /// The key (PEM) of the TLS certificate
    #[serde(deserialize_with = "value::maybe")]
    tls_key: Option<PathBuf> = One("FILE"), Default::None, Server;
    /// The key of this node, by default node.key in the data directory. Created if missing
    #[serde(deserialize_with = "value::maybe")]
    node_key_file: Option<PathBuf> = One("FILE"), Default::None, Server;
    /// Other nodes to accept messages from. KEY is what `hero message key` prints there
    #[serde(deserialize_with = "value::list")]
    nodes: Vec<String> = List("NAME=KEY"), Default::None, Server;
    /// The Redis of nodes that are addressed as node:NAME, each as NAME=URL, with a password if needed. With login, callers cannot name any other
    #[serde(deserialize_with = "value::list")]
    node_redis: Vec<String> = Kind::Secret, Default::None, Server;
    /// The Mycelium node on this machine, such as http://127.0.0.1:8989
    #[serde(deserialize_with = "value::maybe")]
    mycelium_url: Option<String> = One("URL"), Default::None, Server;
    /// The interface of the Mycelium node to use: rest or jsonrpc
    mycelium_api: MyceliumApi = One("API"), Is("rest"), Server;
    /// The Mycelium topic for messages; the same on all nodes
    mycelium_topic: String = One("TOPIC"), Is("hero"), Server;
    /// Timeout for another node to store a job for a runner there
    #[serde(deserialize_with = "value::time")]
    remote_ack: Duration = One("TIME"), Is("5m"), Server;
    /// Timeout for the result of such a job, after it was stored
    #[serde(deserialize_with = "value::time")]
    remote_result: Duration = One("TIME"), Is("1h"), Server;
    /// Listen on addresses that others can reach without login, so that anybody can run scripts
    #[serde(deserialize_with = "value::switch")]
    insecure: bool = Switch, Is("false"), Server;
    /// Web origins besides loopback whose pages may call the server, such as https://example.org; `*` for all
    #[serde(deserialize_with = "value::list")]
    allowed_origins: Vec<String> = List("ORIGIN"), Default::None, Server;
    /// Host names besides loopback and the address itself under which the server may be called; `*` for any
    #[serde(deserialize_with = "value::list")]
    allowed_hosts: Vec<String> = List("HOST"), Default::None, Server;
    /// Actors to run: the number for each type and group, instead of the default; `none` runs none
    #[serde(deserialize_with = "pool::pools")]
    pools: Vec<PoolSettings> = Pools, Computed("osis=<one per core>,sal=2"), Both;
    /// The contexts to serve, such as `0,5` or `0-4`, each a database of Redis. Pools serve all of them unless they name their own. In a file also tables with limits: [contexts.5]
    #[serde(deserialize_with = "context::served")]
    contexts: Vec<ContextId> = Contexts("N"), Is("0"), Both;
    /// Maximum number of contexts made by create_context, and of local runners, that have actors here at once. Others wait for their turn
    #[serde(deserialize_with = "value::count")]
    contexts_running: usize = One("N"), Is("16"), Both;
    /// Contexts with their own Redis. In a file these are tables with `context`, `redis` and other keys that begin with redis_
    #[serde(deserialize_with = "context::endpoints")]
    context_endpoints: Vec<ContextEndpoint> = Endpoints, Default::None, Both;
    /// Other layouts whose queues pools take jobs from, after their own: `all`, `none`, or any of legacy, rhailib, runner
    #[serde(deserialize_with = "pool::layout_names")]
    compat: Vec<LayoutName> = List("LAYOUT"), Is("all"), Both;
    /// The queues for new jobs: `canonical`, `legacy`, or `both` while actors migrate
    push: Push = One("WHERE"), Is("canonical"), Server;
    /// Script types to accept even if no actor here runs them. In a file also tables with the command that runs them: [script_types.bash]
    #[serde(deserialize_with = "script_type::script_types")]
    script_types: Vec<ScriptTypeSettings> = Types("TYPE"), Default::None, Both;
    /// JSON Schemas that the objects of collections must match. Use the same on all machines of one Redis
    #[serde(deserialize_with = "value::list")]
    object_schemas: Vec<String> = List("COLLECTION=FILE"), Default::None, Both;
    /// Your Redis (redis://, rediss:// or unix://). Without it a server starts a private redis-server, and actors alone refuse to start
    #[serde(deserialize_with = "value::maybe")]
    redis: Option<String> = One("URL"), Default::None, Both;
    /// The ACL user at your Redis
    #[serde(deserialize_with = "value::maybe")]
    redis_user: Option<String> = One("NAME"), Default::None, Both;
    /// The password at your Redis
    #[serde(deserialize_with = "value::maybe")]
    redis_password: Option<Secret> = Kind::Secret, Default::None, Both;
    /// A file whose first line is the password at your Redis
    #[serde(deserialize_with = "value::maybe")]
    redis_password_file: Option<PathBuf> = One("FILE"), Default::None, Both;
    /// The certificate authority (PEM) of a rediss:// server; the public ones by default
    #[serde(deserialize_with = "value::maybe")]
    redis_tls_ca: Option<PathBuf> = One("FILE"), Default::None, Both;
    /// The client certificate (PEM) for a rediss:// server
    #[serde(deserialize_with = "value::maybe")]
    redis_tls_cert: Option<PathBuf> = One("FILE"), Default::None, Both;
    /// The key (PEM) of the client certificate
    #[serde(deserialize_with = "value::maybe")]
    redis_tls_key: Option<PathBuf> = One("FILE"), Default::None, Both;
    /// Maximum memory of the private Redis. At 90% new jobs are refused
    #[serde(deserialize_with = "value::size")]
    redis_max_memory: u64 = One("SIZE"), Computed("half of the memory"), Server;
    /// When the private Redis syncs to disk: `everysec` (a power cut may lose two seconds) or `always`
    durability: Durability = One("HOW"), Is("everysec"), Server;
    /// Time after which another actor takes the job of a silent one
    #[serde(deserialize_with = "value::time")]
    lease: Duration = One("TIME"), Is("30s"), Both;
    /// Time that running scripts get at shutdown before their jobs are requeued
    #[serde(deserialize_with = "value::time")]
    grace: Duration = One("TIME"), Is("10s"), Both;
    /// Time after which an idle engine ends, unless it is the first of its pool. The next job starts it again. 0s keeps idle engines
    #[serde(deserialize_with = "value::time")]
    engine_idle: Duration = One("TIME"), Is("30s"), Both;
    /// Maximum number of jobs in a queue. Further ones are refused
    #[serde(deserialize_with = "value::count")]
    queue_length: u64 = One("N"), Is("100000"), Server;
    /// Maximum number of running jobs of one context, on all machines that have the same number; 0 is no limit
    #[serde(deserialize_with = "value::count")]
    max_running: usize = One("N"), Is("0"), Both;
    /// Time to keep a finished job
    #[serde(deserialize_with = "value::time")]
    retention_finished: Duration = One("TIME"), Is("24h"), Both;
    /// Time to keep a finished job of run_and_wait
    #[serde(deserialize_with = "value::time")]
    retention_waited: Duration = One("TIME"), Is("1h"), Both;
    /// Time to keep a job that ended in error
    #[serde(deserialize_with = "value::time")]
    retention_error: Duration = One("TIME"), Is("7d"), Both;
    /// Time after which a created job that was not started is stopped
    #[serde(deserialize_with = "value::time")]
    retention_created: Duration = One("TIME"), Is("24h"), Both;
    /// If the system does not offer full confinement of engines: `preferred` runs scripts and warns, `required` refuses to run them
    confinement: Confinement = One("HOW"), Is("preferred"), Both;
    /// Maximum size of a script
    #[serde(deserialize_with = "value::size")]
    script_source: u64 = One("SIZE"), Is("64KB"), Both;
    /// Maximum memory of a script at once
    #[serde(deserialize_with = "value::size")]
    script_memory: u64 = One("SIZE"), Is("64MB"), Both;
    /// Maximum number of operations of a script; 0 leaves it to the timeout
    #[serde(deserialize_with = "value::count")]
    script_operations: u64 = One("N"), Is("0"), Both;
    /// Make reading a missing key of a map an error of the script, instead of ()
    #[serde(deserialize_with = "value::switch")]
    script_strict: bool = Switch, Is("false"), Both;
    /// Maximum size of a script's log; a line takes 32 bytes and its text
    #[serde(deserialize_with = "value::size")]
    script_log: u64 = One("SIZE"), Is("1MB"), Both;
    /// Maximum size of a result
    #[serde(deserialize_with = "value::size")]
    script_result: u64 = One("SIZE"), Is("1MB"), Both;
    /// Maximum size of the files that the scripts of a context write, in DATA/files. Each counts as 1KB more than its content
    #[serde(deserialize_with = "value::size")]
    files_quota: u64 = One("SIZE"), Is("1GB"), Both;
    /// Replace an engine process after this many jobs; 0 never
    #[serde(deserialize_with = "value::count")]
    recycle_jobs: u64 = One("N"), Is("10000"), Both;
    /// Replace an engine process after this time; 0 never
    #[serde(deserialize_with = "value::time")]
    recycle_age: Duration = One("TIME"), Is("1h"), Both;
    /// Replace an engine process that holds this much memory between jobs; 0 never
    #[serde(deserialize_with = "value::size")]
    recycle_memory: u64 = One("SIZE"), Is("192MB"), Both;
    /// The directory for the log files of jobs. Use a separate one for each Redis
    log_dir: PathBuf = One("DIR"), Computed("DATA/logs"), Both;
    /// Maximum size of all log files together. Beyond it the oldest are removed; 0 is no limit
    #[serde(deserialize_with = "value::size")]
    log_quota: u64 = One("SIZE"), Is("1GB"), Both;
    /// Record in the audit log who does what: calls that change something, refusals, logins, executions. Without login, callers are only addresses there
    #[serde(deserialize_with = "value::switch")]
    audit: bool = Switch, Computed("true with login, else false"), Both;
    /// The directory for the audit log. One process at a time writes to it
    audit_dir: PathBuf = One("DIR"), Computed("DATA/audit"), Both;
    /// The key for the hashes of the audit log, by default audit.key in the data directory. Created if missing
    #[serde(deserialize_with = "value::maybe")]
    audit_key_file: Option<PathBuf> = One("FILE"), Default::None, Both;
    /// Size at which the audit log begins its next file
    #[serde(deserialize_with = "value::size")]
    audit_file_size: u64 = One("SIZE"), Is("16MB"), Both;
    /// Maximum size of all audit files together. Beyond it the oldest are removed; 0 is no limit
    #[serde(deserialize_with = "value::size")]
    audit_quota: u64 = One("SIZE"), Is("1GB"), Both;
    /// Texts to replace with *** in the logs and errors of jobs, besides secret values of env_vars. Only * is special: it matches anything but white space
    #[serde(deserialize_with = "value::list")]
    mask: Vec<String> = List("PATTERN"), Default::None, Both;
    /// The format of hero's own log on stderr: `pretty` or `json`
    log_format: LogFormat = One("FORMAT"), Is("pretty"), Both;
    /// The level of hero's own log: error, warn, info, debug, trace, or directives such as hero=debug,warn
    log_level: String = One("LEVEL"), Is("info"), Both;
    /// The prefix of the keys of conveyor clients (`NAME:queue:…`); none by default, as in their specification
    #[serde(deserialize_with = "value::maybe")]
    conveyor_namespace: Option<Name> = One("NAME"), Default::None, Both;
    /// Maximum number of connections
    #[serde(deserialize_with = "value::count")]
    max_connections: u32 = One("N"), Limit(|limits| limits.connections.into()), Server;
    /// Maximum number of connections of one address; a proxy in front of others needs more
    #[serde(deserialize_with = "value::count")]
    max_per_address: u32 = One("N"), Computed("half of max_connections"), Server;
    /// Maximum number of subscriptions of one connection
    #[serde(deserialize_with = "value::count")]
    max_subscriptions: u32 = One("N"), Limit(|limits| limits.subscriptions_per_connection.into()), Server;
    /// Maximum number of calls in one batch
    #[serde(deserialize_with = "value::count")]
    max_batch: u32 = One("N"), Limit(|limits| limits.batch.into()), Server;
    /// Maximum size of a request
    #[serde(deserialize_with = "value::size")]
    max_request: u64 = One("SIZE"), Limit(|limits| limits.request_bytes.into()), Server;
    /// Maximum size of a response
    #[serde(deserialize_with = "value::size")]
    max_response: u64 = One("SIZE"), Limit(|limits| limits.response_bytes.into()), Server;
    /// Maximum number of calls per second of one address; 0 is no limit
    #[serde(deserialize_with = "value::count")]
    calls_per_second: u32 = One("N"), Computed("0 on loopback without login, else 1000"), Server;
    /// Maximum number of concurrent calls of one connection
    #[serde(deserialize_with = "value::count")]
    calls_in_flight: u32 = One("N"), Limit(|limits| limits.calls_per_connection.into()), Server;
    /// Maximum memory for one connection: requests until they are answered, answers until they are read. Above it, the server stops reading from the connection
    #[serde(deserialize_with = "value::size")]
    held_per_connection: u64 = One("SIZE"), Limit(|limits| limits.held_per_connection), Server;
    /// Maximum memory for all connections of one address
    #[serde(deserialize_with = "value::size")]
    held_per_address: u64 = One("SIZE"), Limit(|limits| limits.held_per_address), Server;
    /// Maximum memory for all connections
    #[serde(deserialize_with = "value::size")]
    held: u64 = One("SIZE"), Limit(|limits| limits.held), Server;
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
