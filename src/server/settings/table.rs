pub use super::setting::{Default, Kind, Scope, Setting};

use self::Default::{Computed, Is, Limit};
use Kind::{Contexts, Endpoints, List, One, Pools, Secret, Switch, Types};
use Scope::{Both, Server};

const fn setting(name: &'static str, kind: Kind, default: Default, scope: Scope, doc: &'static str) -> Setting {
    Setting { name, kind, default, scope, doc }
}

/// Every setting, in the order in which people are shown them.
pub static SETTINGS: &[Setting] = &[
    setting(
        "config",
        One("FILE"),
        Default::None,
        Both,
        "A TOML file with settings; its keys are those that --print-config shows, such as max_request",
    ),
    setting(
        "listen",
        One("ADDR"),
        Is("127.0.0.1:8700"),
        Server,
        "Where to listen, by address or name (localhost:8700: on all its addresses); port 0 takes a free one",
    ),
    setting(
        "data",
        One("DIR"),
        Computed("$XDG_DATA_HOME/hero, else ~/.local/share/hero"),
        Both,
        "Where the private Redis, logs and secrets are kept",
    ),
    setting(
        "login",
        Switch,
        Is("false"),
        Server,
        "Have callers say who they are, by a token; the first identity and its token are made through the socket DATA/hero.sock",
    ),
    setting(
        "token_key_file",
        One("FILE"),
        Default::None,
        Server,
        "The key with which tokens are hashed, made where it is missing, token.key in the data directory by default; the same on all servers of one Redis",
    ),
    setting("login_lifetime", One("TIME"), Is("24h"), Server, "How long a login by a signature lasts, and the token that it gives"),
    setting(
        "tls_cert",
        One("FILE"),
        Default::None,
        Server,
        "Speak TLS (https://, wss://) with this certificate (PEM, with those that lead to its authority); SIGHUP has it read again",
    ),
    setting("tls_key", One("FILE"), Default::None, Server, "The key (PEM) of that certificate"),
    setting(
        "node_key_file",
        One("FILE"),
        Default::None,
        Server,
        "The key of this node, made where it is missing, node.key in the data directory by default",
    ),
    setting(
        "nodes",
        List("NAME=KEY"),
        Default::None,
        Server,
        "The nodes whose messages are taken: the key is what `hero message key` prints there",
    ),
    setting(
        "node_redis",
        Secret,
        Default::None,
        Server,
        "The Redis of nodes that are sent to as node:NAME: NAME=URL, with a password if need be; with login, callers name no other",
    ),
    setting("mycelium_url", One("URL"), Default::None, Server, "The node of Mycelium on this machine, such as http://127.0.0.1:8989"),
    setting("mycelium_api", One("API"), Is("rest"), Server, "Which of its interfaces that is: rest or jsonrpc"),
    setting("mycelium_topic", One("TOPIC"), Is("hero"), Server, "The topic of messages there, the same on all nodes"),
    setting("remote_ack", One("TIME"), Is("5m"), Server, "How long another node may take to store a job of a runner that is there"),
    setting("remote_result", One("TIME"), Is("1h"), Server, "How long it may take then until its result is here"),
    setting("insecure", Switch, Is("false"), Server, "Listen on addresses that others can reach although anybody may then run scripts"),
    setting(
        "allowed_origins",
        List("ORIGIN"),
        Default::None,
        Server,
        "Web origins besides loopback whose pages may call, such as https://example.org; `*` for all",
    ),
    setting(
        "allowed_hosts",
        List("HOST"),
        Default::None,
        Server,
        "Host names besides loopback and the address itself by which this server may be called; `*` for any",
    ),
    setting(
        "pools",
        Pools,
        Computed("osis=<one per core>,sal=2"),
        Both,
        "Actors to host: how many of which type and group, instead of the default; `none` hosts none",
    ),
    setting(
        "contexts",
        Contexts("N"),
        Is("0"),
        Both,
        "The contexts to serve, such as `0,5` or `0-4`, each a database of Redis; pools serve all unless they name theirs; in a file also tables with limits: [contexts.5]",
    ),
    setting(
        "contexts_running",
        One("N"),
        Is("16"),
        Both,
        "How many contexts that were made by create_context, and how many local runners, have actors here at once; others wait their turn",
    ),
    setting(
        "context_endpoints",
        Endpoints,
        Default::None,
        Both,
        "Contexts with a Redis of their own; in a file tables with `context`, `redis` and what else begins with redis_",
    ),
    setting(
        "compat",
        List("LAYOUT"),
        Is("all"),
        Both,
        "Whose queues pools take from after their own: `all`, `none`, or any of legacy, rhailib, runner",
    ),
    setting(
        "push",
        One("WHERE"),
        Is("canonical"),
        Server,
        "Which queues new jobs go to: `canonical`, `legacy`, or `both` while actors migrate",
    ),
    setting(
        "script_types",
        Types("TYPE"),
        Default::None,
        Both,
        "Script types to accept although no actor here runs them; in a file also tables with the command that runs them: [script_types.bash]",
    ),
    setting(
        "object_schemas",
        List("COLLECTION=FILE"),
        Default::None,
        Both,
        "JSON Schemas that the objects of collections have to fit; say the same on all machines of one Redis",
    ),
    setting(
        "redis",
        One("URL"),
        Default::None,
        Both,
        "Your Redis (redis://, rediss:// or unix://); without it a server starts a private redis-server, and actors alone refuse to start",
    ),
    setting("redis_user", One("NAME"), Default::None, Both, "The ACL user at your Redis"),
    setting("redis_password", Secret, Default::None, Both, "The password at your Redis"),
    setting("redis_password_file", One("FILE"), Default::None, Both, "A file whose first line is that password"),
    setting(
        "redis_tls_ca",
        One("FILE"),
        Default::None,
        Both,
        "The certificate authority (PEM) of a rediss:// server; the public ones by default",
    ),
    setting("redis_tls_cert", One("FILE"), Default::None, Both, "The client certificate (PEM) for it"),
    setting("redis_tls_key", One("FILE"), Default::None, Both, "The key (PEM) of the client certificate"),
    setting(
        "redis_max_memory",
        One("SIZE"),
        Computed("half of the memory"),
        Server,
        "How much the private Redis may hold; at 90% new jobs are refused",
    ),
    setting(
        "durability",
        One("HOW"),
        Is("everysec"),
        Server,
        "When the private Redis syncs to disk: `everysec` (a power cut may lose two seconds) or `always`",
    ),
    setting("lease", One("TIME"), Is("30s"), Both, "How long a silent actor keeps its job; then another takes it"),
    setting("grace", One("TIME"), Is("10s"), Both, "How long running scripts may go on at shutdown before they are handed back"),
    setting(
        "engine_idle",
        One("TIME"),
        Is("30s"),
        Both,
        "How long an engine without jobs is kept, if it is not the first of its pool; the next job starts it again. 0s is for ever",
    ),
    setting("queue_length", One("N"), Is("100000"), Server, "How many jobs a queue holds; then new ones are refused"),
    setting(
        "max_running",
        One("N"),
        Is("0"),
        Both,
        "How many jobs of one context run at once, on all machines that have the same number; 0 is no limit",
    ),
    setting("retention_finished", One("TIME"), Is("24h"), Both, "How long a finished job is kept"),
    setting("retention_waited", One("TIME"), Is("1h"), Both, "How long a finished job of run_and_wait is kept"),
    setting("retention_error", One("TIME"), Is("7d"), Both, "How long a job that ended badly is kept"),
    setting("retention_created", One("TIME"), Is("24h"), Both, "When a job that nobody starts is stopped"),
    setting(
        "confinement",
        One("HOW"),
        Is("preferred"),
        Both,
        "Where the system does not let engines be confined: `preferred` runs scripts and says so, `required` refuses to",
    ),
    setting("script_source", One("SIZE"), Is("64KB"), Both, "The longest script"),
    setting("script_memory", One("SIZE"), Is("64MB"), Both, "The most memory a script may hold at once"),
    setting("script_operations", One("N"), Is("0"), Both, "The most operations a script may take; 0 leaves it to the timeout"),
    setting("script_strict", Switch, Is("false"), Both, "Make it an error of a script to read what a map does not have, instead of ()"),
    setting("script_log", One("SIZE"), Is("1MB"), Both, "The most a script may log; a line takes 32 bytes and its text"),
    setting("script_result", One("SIZE"), Is("1MB"), Both, "The largest result"),
    setting(
        "files_quota",
        One("SIZE"),
        Is("1GB"),
        Both,
        "How much the files of a context may take that scripts write, in DATA/files; each takes 1KB more than is in it",
    ),
    setting("recycle_jobs", One("N"), Is("10000"), Both, "Replace an engine process after this many jobs; 0 never"),
    setting("recycle_age", One("TIME"), Is("1h"), Both, "Replace an engine process after this time; 0 never"),
    setting("recycle_memory", One("SIZE"), Is("192MB"), Both, "Replace an engine process that holds this much between jobs; 0 never"),
    setting("log_dir", One("DIR"), Computed("DATA/logs"), Both, "Where the log files of jobs are; of one Redis"),
    setting("log_quota", One("SIZE"), Is("1GB"), Both, "How much all log files may take together; then the oldest go; 0 is no limit"),
    setting(
        "audit",
        Switch,
        Computed("true with login, else false"),
        Both,
        "Record who does what in the audit log: calls that change something, refusals, logins, executions; without login callers are only addresses there",
    ),
    setting("audit_dir", One("DIR"), Computed("DATA/audit"), Both, "Where the audit log is; one process at a time writes to it"),
    setting(
        "audit_key_file",
        One("FILE"),
        Default::None,
        Both,
        "The key that the hashes of its records need, made where it is missing, audit.key in the data directory by default",
    ),
    setting("audit_file_size", One("SIZE"), Is("16MB"), Both, "At what size the next file of it begins"),
    setting("audit_quota", One("SIZE"), Is("1GB"), Both, "How much its files may take together; then the oldest go; 0 is no limit"),
    setting(
        "mask",
        List("PATTERN"),
        Default::None,
        Both,
        "Texts to replace with *** in the logs and errors of jobs, besides secret values of env_vars; only * is special: anything but white space",
    ),
    setting("log_format", One("FORMAT"), Is("pretty"), Both, "The log of hero itself, on stderr: `pretty` or `json`"),
    setting(
        "log_level",
        One("LEVEL"),
        Is("info"),
        Both,
        "What it says: error, warn, info, debug, trace, or directives such as hero=debug,warn",
    ),
    setting(
        "conveyor_namespace",
        One("NAME"),
        Default::None,
        Both,
        "What stands before the keys of conveyor clients (`NAME:queue:…`); nothing by default, as in their specification",
    ),
    setting("max_connections", One("N"), Limit(|limits| limits.connections.into()), Server, "Connections at once"),
    setting(
        "max_per_address",
        One("N"),
        Computed("half of max_connections"),
        Server,
        "Connections at once of one address; a proxy in front of others needs more",
    ),
    setting(
        "max_subscriptions",
        One("N"),
        Limit(|limits| limits.subscriptions_per_connection.into()),
        Server,
        "Subscriptions of one connection",
    ),
    setting("max_batch", One("N"), Limit(|limits| limits.batch.into()), Server, "Calls in one batch"),
    setting("max_request", One("SIZE"), Limit(|limits| limits.request_bytes.into()), Server, "The largest request"),
    setting("max_response", One("SIZE"), Limit(|limits| limits.response_bytes.into()), Server, "The largest response"),
    setting(
        "calls_per_second",
        One("N"),
        Computed("0 on loopback without login, else 1000"),
        Server,
        "Calls per second of one address; 0 does not limit them",
    ),
    setting("calls_in_flight", One("N"), Limit(|limits| limits.calls_per_connection.into()), Server, "Calls at once of one connection"),
    setting(
        "held_per_connection",
        One("SIZE"),
        Limit(|limits| limits.held_per_connection),
        Server,
        "Held for one connection: requests until they are answered, answers until they are read; above that nothing is read from it",
    ),
    setting("held_per_address", One("SIZE"), Limit(|limits| limits.held_per_address), Server, "Held for all connections of one address"),
    setting("held", One("SIZE"), Limit(|limits| limits.held), Server, "Held for all connections"),
];

impl Setting {
    /// The setting called `name` in the TOML file.
    pub fn named(name: &str) -> Option<&'static Self> {
        SETTINGS.iter().find(|setting| setting.name == name)
    }
}

/// The table as `docs/settings.md` shows it.
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
