pub use super::setting::{Default, Kind, Scope, Setting};

use self::Default::{Computed, Is, Limit};
use Kind::{Contexts, Endpoints, List, One, Pools, Secret, Switch, Types};
use Scope::{Both, Server};

const fn setting(name: &'static str, kind: Kind, default: Default, scope: Scope, doc: &'static str) -> Setting {
    Setting { name, kind, default, scope, doc }
}

/// Every setting, in the order of `--help` and the documentation.
pub static SETTINGS: &[Setting] = &[
    setting(
        "config",
        One("FILE"),
        Default::None,
        Both,
        "A TOML file with settings. Its keys are those that --print-config shows, such as max_request",
    ),
    setting(
        "listen",
        One("ADDR"),
        Is("127.0.0.1:8700"),
        Server,
        "The address or name to listen on. A name such as localhost:8700 means all its addresses; port 0 takes a free port",
    ),
    setting(
        "data",
        One("DIR"),
        Computed("$XDG_DATA_HOME/hero, else ~/.local/share/hero"),
        Both,
        "The directory for the private Redis, logs and secrets",
    ),
    setting(
        "login",
        Switch,
        Is("false"),
        Server,
        "Require callers to log in with a token. Create the first identity and its token through the socket DATA/hero.sock",
    ),
    setting(
        "token_key_file",
        One("FILE"),
        Default::None,
        Server,
        "The key that hashes tokens, by default token.key in the data directory. Created if missing; must be the same on all servers of one Redis",
    ),
    setting("login_lifetime", One("TIME"), Is("24h"), Server, "Lifetime of a login by a signature, and of its token"),
    setting(
        "tls_cert",
        One("FILE"),
        Default::None,
        Server,
        "Serve TLS (https://, wss://) with this certificate (PEM, with the chain up to its authority). SIGHUP reloads it",
    ),
    setting("tls_key", One("FILE"), Default::None, Server, "The key (PEM) of the TLS certificate"),
    setting(
        "node_key_file",
        One("FILE"),
        Default::None,
        Server,
        "The key of this node, by default node.key in the data directory. Created if missing",
    ),
    setting(
        "nodes",
        List("NAME=KEY"),
        Default::None,
        Server,
        "Other nodes to accept messages from. KEY is what `hero message key` prints there",
    ),
    setting(
        "node_redis",
        Secret,
        Default::None,
        Server,
        "The Redis of nodes that are addressed as node:NAME, each as NAME=URL, with a password if needed. With login, callers cannot name any other",
    ),
    setting("mycelium_url", One("URL"), Default::None, Server, "The Mycelium node on this machine, such as http://127.0.0.1:8989"),
    setting("mycelium_api", One("API"), Is("rest"), Server, "The interface of the Mycelium node to use: rest or jsonrpc"),
    setting("mycelium_topic", One("TOPIC"), Is("hero"), Server, "The Mycelium topic for messages; the same on all nodes"),
    setting("remote_ack", One("TIME"), Is("5m"), Server, "Timeout for another node to store a job for a runner there"),
    setting("remote_result", One("TIME"), Is("1h"), Server, "Timeout for the result of such a job, after it was stored"),
    setting(
        "insecure",
        Switch,
        Is("false"),
        Server,
        "Listen on addresses that others can reach without login, so that anybody can run scripts",
    ),
    setting(
        "allowed_origins",
        List("ORIGIN"),
        Default::None,
        Server,
        "Web origins besides loopback whose pages may call the server, such as https://example.org; `*` for all",
    ),
    setting(
        "allowed_hosts",
        List("HOST"),
        Default::None,
        Server,
        "Host names besides loopback and the address itself under which the server may be called; `*` for any",
    ),
    setting(
        "pools",
        Pools,
        Computed("osis=<one per core>,sal=2"),
        Both,
        "Actors to run: the number for each type and group, instead of the default; `none` runs none",
    ),
    setting(
        "contexts",
        Contexts("N"),
        Is("0"),
        Both,
        "The contexts to serve, such as `0,5` or `0-4`, each a database of Redis. Pools serve all of them unless they name their own. In a file also tables with limits: [contexts.5]",
    ),
    setting(
        "contexts_running",
        One("N"),
        Is("16"),
        Both,
        "Maximum number of contexts made by create_context, and of local runners, that have actors here at once. Others wait for their turn",
    ),
    setting(
        "context_endpoints",
        Endpoints,
        Default::None,
        Both,
        "Contexts with their own Redis. In a file these are tables with `context`, `redis` and other keys that begin with redis_",
    ),
    setting(
        "compat",
        List("LAYOUT"),
        Is("all"),
        Both,
        "Other layouts whose queues pools take jobs from, after their own: `all`, `none`, or any of legacy, rhailib, runner",
    ),
    setting(
        "push",
        One("WHERE"),
        Is("canonical"),
        Server,
        "The queues for new jobs: `canonical`, `legacy`, or `both` while actors migrate",
    ),
    setting(
        "script_types",
        Types("TYPE"),
        Default::None,
        Both,
        "Script types to accept even if no actor here runs them. In a file also tables with the command that runs them: [script_types.bash]",
    ),
    setting(
        "object_schemas",
        List("COLLECTION=FILE"),
        Default::None,
        Both,
        "JSON Schemas that the objects of collections must match. Use the same on all machines of one Redis",
    ),
    setting(
        "redis",
        One("URL"),
        Default::None,
        Both,
        "Your Redis (redis://, rediss:// or unix://). Without it a server starts a private redis-server, and actors alone refuse to start",
    ),
    setting("redis_user", One("NAME"), Default::None, Both, "The ACL user at your Redis"),
    setting("redis_password", Secret, Default::None, Both, "The password at your Redis"),
    setting("redis_password_file", One("FILE"), Default::None, Both, "A file whose first line is the password at your Redis"),
    setting(
        "redis_tls_ca",
        One("FILE"),
        Default::None,
        Both,
        "The certificate authority (PEM) of a rediss:// server; the public ones by default",
    ),
    setting("redis_tls_cert", One("FILE"), Default::None, Both, "The client certificate (PEM) for a rediss:// server"),
    setting("redis_tls_key", One("FILE"), Default::None, Both, "The key (PEM) of the client certificate"),
    setting(
        "redis_max_memory",
        One("SIZE"),
        Computed("half of the memory"),
        Server,
        "Maximum memory of the private Redis. At 90% new jobs are refused",
    ),
    setting(
        "durability",
        One("HOW"),
        Is("everysec"),
        Server,
        "When the private Redis syncs to disk: `everysec` (a power cut may lose two seconds) or `always`",
    ),
    setting("lease", One("TIME"), Is("30s"), Both, "Time after which another actor takes the job of a silent one"),
    setting("grace", One("TIME"), Is("10s"), Both, "Time that running scripts get at shutdown before their jobs are requeued"),
    setting(
        "engine_idle",
        One("TIME"),
        Is("30s"),
        Both,
        "Time after which an idle engine ends, unless it is the first of its pool. The next job starts it again. 0s keeps idle engines",
    ),
    setting("queue_length", One("N"), Is("100000"), Server, "Maximum number of jobs in a queue. Further ones are refused"),
    setting(
        "max_running",
        One("N"),
        Is("0"),
        Both,
        "Maximum number of running jobs of one context, on all machines that have the same number; 0 is no limit",
    ),
    setting("retention_finished", One("TIME"), Is("24h"), Both, "Time to keep a finished job"),
    setting("retention_waited", One("TIME"), Is("1h"), Both, "Time to keep a finished job of run_and_wait"),
    setting("retention_error", One("TIME"), Is("7d"), Both, "Time to keep a job that ended in error"),
    setting("retention_created", One("TIME"), Is("24h"), Both, "Time after which a created job that was not started is stopped"),
    setting(
        "confinement",
        One("HOW"),
        Is("preferred"),
        Both,
        "If the system does not offer full confinement of engines: `preferred` runs scripts and warns, `required` refuses to run them",
    ),
    setting("script_source", One("SIZE"), Is("64KB"), Both, "Maximum size of a script"),
    setting("script_memory", One("SIZE"), Is("64MB"), Both, "Maximum memory of a script at once"),
    setting("script_operations", One("N"), Is("0"), Both, "Maximum number of operations of a script; 0 leaves it to the timeout"),
    setting("script_strict", Switch, Is("false"), Both, "Make reading a missing key of a map an error of the script, instead of ()"),
    setting("script_log", One("SIZE"), Is("1MB"), Both, "Maximum size of a script's log; a line takes 32 bytes and its text"),
    setting("script_result", One("SIZE"), Is("1MB"), Both, "Maximum size of a result"),
    setting(
        "files_quota",
        One("SIZE"),
        Is("1GB"),
        Both,
        "Maximum size of the files that the scripts of a context write, in DATA/files. Each counts as 1KB more than its content",
    ),
    setting("recycle_jobs", One("N"), Is("10000"), Both, "Replace an engine process after this many jobs; 0 never"),
    setting("recycle_age", One("TIME"), Is("1h"), Both, "Replace an engine process after this time; 0 never"),
    setting(
        "recycle_memory",
        One("SIZE"),
        Is("192MB"),
        Both,
        "Replace an engine process that holds this much memory between jobs; 0 never",
    ),
    setting(
        "log_dir",
        One("DIR"),
        Computed("DATA/logs"),
        Both,
        "The directory for the log files of jobs. Use a separate one for each Redis",
    ),
    setting(
        "log_quota",
        One("SIZE"),
        Is("1GB"),
        Both,
        "Maximum size of all log files together. Beyond it the oldest are removed; 0 is no limit",
    ),
    setting(
        "audit",
        Switch,
        Computed("true with login, else false"),
        Both,
        "Record in the audit log who does what: calls that change something, refusals, logins, executions. Without login, callers are only addresses there",
    ),
    setting("audit_dir", One("DIR"), Computed("DATA/audit"), Both, "The directory for the audit log. One process at a time writes to it"),
    setting(
        "audit_key_file",
        One("FILE"),
        Default::None,
        Both,
        "The key for the hashes of the audit log, by default audit.key in the data directory. Created if missing",
    ),
    setting("audit_file_size", One("SIZE"), Is("16MB"), Both, "Size at which the audit log begins its next file"),
    setting(
        "audit_quota",
        One("SIZE"),
        Is("1GB"),
        Both,
        "Maximum size of all audit files together. Beyond it the oldest are removed; 0 is no limit",
    ),
    setting(
        "mask",
        List("PATTERN"),
        Default::None,
        Both,
        "Texts to replace with *** in the logs and errors of jobs, besides secret values of env_vars. Only * is special: it matches anything but white space",
    ),
    setting("log_format", One("FORMAT"), Is("pretty"), Both, "The format of hero's own log on stderr: `pretty` or `json`"),
    setting(
        "log_level",
        One("LEVEL"),
        Is("info"),
        Both,
        "The level of hero's own log: error, warn, info, debug, trace, or directives such as hero=debug,warn",
    ),
    setting(
        "conveyor_namespace",
        One("NAME"),
        Default::None,
        Both,
        "The prefix of the keys of conveyor clients (`NAME:queue:…`); none by default, as in their specification",
    ),
    setting("max_connections", One("N"), Limit(|limits| limits.connections.into()), Server, "Maximum number of connections"),
    setting(
        "max_per_address",
        One("N"),
        Computed("half of max_connections"),
        Server,
        "Maximum number of connections of one address; a proxy in front of others needs more",
    ),
    setting(
        "max_subscriptions",
        One("N"),
        Limit(|limits| limits.subscriptions_per_connection.into()),
        Server,
        "Maximum number of subscriptions of one connection",
    ),
    setting("max_batch", One("N"), Limit(|limits| limits.batch.into()), Server, "Maximum number of calls in one batch"),
    setting("max_request", One("SIZE"), Limit(|limits| limits.request_bytes.into()), Server, "Maximum size of a request"),
    setting("max_response", One("SIZE"), Limit(|limits| limits.response_bytes.into()), Server, "Maximum size of a response"),
    setting(
        "calls_per_second",
        One("N"),
        Computed("0 on loopback without login, else 1000"),
        Server,
        "Maximum number of calls per second of one address; 0 is no limit",
    ),
    setting(
        "calls_in_flight",
        One("N"),
        Limit(|limits| limits.calls_per_connection.into()),
        Server,
        "Maximum number of concurrent calls of one connection",
    ),
    setting(
        "held_per_connection",
        One("SIZE"),
        Limit(|limits| limits.held_per_connection),
        Server,
        "Maximum memory for one connection: requests until they are answered, answers until they are read. Above it, the server stops reading from the connection",
    ),
    setting(
        "held_per_address",
        One("SIZE"),
        Limit(|limits| limits.held_per_address),
        Server,
        "Maximum memory for all connections of one address",
    ),
    setting("held", One("SIZE"), Limit(|limits| limits.held), Server, "Maximum memory for all connections"),
];

impl Setting {
    /// Returns the setting called `name` in the TOML file.
    pub fn named(name: &str) -> Option<&'static Self> {
        SETTINGS.iter().find(|setting| setting.name == name)
    }
}

/// Renders the table for `docs/settings.md`.
pub fn markdown() -> String {
    use std::fmt::Write as _;

    let mut text = String::from("| setting | flag | environment | default | |\n| --- | --- | --- | --- | --- |\n");
    for setting in SETTINGS {
        let flag = match (setting.flag(), setting.kind) {
            (Some(flag), Kind::Switch) => format!("`--{flag}`"),
            (Some(flag), Kind::One(value) | Kind::List(value) | Kind::Types(value) | Kind::Contexts(value)) => {
                format!("`--{flag} {value}`")
            }
            (Some(flag), Kind::Endpoints) => format!("`--{flag} N=URL`"),
            (Some(flag), _) => format!("`--{flag} TYPE[:GROUP]=N`"),
            (None, _) => "–".to_owned(),
        };
        let default = match setting.default {
            Computed(words) => words.replace('<', "&lt;"),
            _ => setting.default_text().map_or_else(|| "–".to_owned(), |value| format!("`{value}`")),
        };
        let also = if setting.scope == Both { "" } else { " *(server only)*" };
        writeln!(text, "| `{}` | {flag} | `{}` | {default} | {}{also} |", setting.name, setting.env(), setting.doc)
            .expect("writing to a String cannot fail");
    }
    text
}
