use std::collections::BTreeMap;
use std::default::Default as _;
use std::path::PathBuf;

use figment::value::{Dict, Value};
use figment::{Figment, error::Kind};

use super::source::{self, DEFAULT, ENVIRONMENT, FLAG, Flags, Layer};
use super::{Default, SETTINGS, Scope, Secret, Setting, Settings, consistency, context, context_settings, defaults, origins, variables};
use crate::model::ContextId;
use crate::rpc::Limits;

/// The settings cannot be used. The text tells the user why.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Invalid(String);

/// The final settings, and the origin of each value.
#[derive(Debug, Clone)]
pub struct Resolved {
    /// The final values.
    pub settings: Settings,
    /// The origin of each setting's value, in the order of the table.
    pub origins: Vec<Origin>,
    /// One line for every setting that will not have its expected effect.
    pub warnings: Vec<String>,
}

/// The origin of a setting's value.
#[derive(Debug, Clone)]
pub struct Origin {
    /// The setting.
    pub setting: &'static Setting,
    /// Its value as given.
    pub value: Value,
    /// `flag --lease`, `environment HERO_LEASE`, `file hero.toml` or `default`.
    pub from: String,
}

/// Merges and checks flags, environment, file and defaults.
///
/// Reads the configuration file and the password file; changes nothing.
pub fn resolve<const SERVER: bool>(flags: &Flags<SERVER>, env: &BTreeMap<String, String>) -> Result<Resolved, Invalid> {
    let scope = Flags::<SERVER>::SCOPE;
    let (flags, environment) = (flags.layer(), source::environment(env).map_err(Invalid)?);
    let config = [&flags, &environment].into_iter().find_map(|layer| layer.values.get("config")?.as_str().map(PathBuf::from));
    let mut given = Figment::new();
    if let Some(path) = &config {
        given = given.merge(source::file(path).map_err(Invalid)?);
    }
    // The tables also narrow contexts that flags or the environment name.
    let of_file = given.find_value("contexts").ok();
    let given = given.merge(environment).merge(flags);
    let all = with_defaults(given, env)?;
    let mut settings: Settings = all.extract().map_err(|error| Invalid(explain(&all, error)))?;
    let said = |name: &str| format!("{name} ({})", source_of(&all, name));
    if let Some(Value::Dict(_, tables)) = of_file {
        settings.of_contexts = context_settings::tables(&tables).map_err(Invalid)?;
        settings.of_contexts.retain(|one| settings.contexts.contains(&one.context));
    }
    settings.data = absolute(&settings.data, &said("data"))?;
    settings.log_dir = absolute(&settings.log_dir, &said("log_dir"))?;
    settings.audit_dir = absolute(&settings.audit_dir, &said("audit_dir"))?;
    settings.log_level = settings.log_level.split(',').map(str::trim).collect::<Vec<_>>().join(",");
    for pool in settings.pools.iter_mut().filter(|pool| pool.contexts.is_empty()) {
        pool.contexts.clone_from(&settings.contexts);
        pool.everywhere = true;
    }
    check(&settings, scope, &said).map_err(Invalid)?;
    let is_given = |name: &str| source_of(&all, name) != DEFAULT;
    consistency::fault(&settings, scope, &is_given, &said).map_or(Ok(()), |fault| Err(Invalid(fault)))?;
    let of_settings = origins::warnings(&settings).chain(consistency::warnings(&settings, scope, &is_given, &said));
    let warnings = variables::warnings(env).into_iter().chain(of_settings).collect();
    if let Some(path) = &settings.redis_password_file {
        settings.redis_password = Some(first_line(path, &said("redis_password_file"))?);
    }
    for endpoint in &mut settings.context_endpoints {
        if let Some(path) = &endpoint.redis_password_file {
            let said = format!("{}: context {}: {}", said("context_endpoints"), endpoint.context, path.display());
            endpoint.redis_password = Some(first_line(path, &said)?);
        }
    }
    let origins = SETTINGS.iter().filter(|setting| setting.is_for(scope)).filter_map(|setting| {
        let value = all.find_value(setting.name).ok()?;
        Some(Origin { setting, value, from: source_of(&all, setting.name) })
    });
    Ok(Resolved { origins: origins.collect(), settings, warnings })
}

fn first_line(path: &std::path::Path, said: &str) -> Result<Secret, Invalid> {
    let text = std::fs::read_to_string(path).map_err(|error| Invalid(format!("{said}: {error}")))?;
    match text.lines().next() {
        Some(line) if !line.is_empty() => Ok(Secret(line.to_owned())),
        _ => Err(Invalid(format!("{said}: the file is empty, or its first line is; the password is to stand there"))),
    }
}

/// Adds the defaults.
fn with_defaults(given: Figment, env: &BTreeMap<String, String>) -> Result<Figment, Invalid> {
    let text = |name: &str| given.find_value(name).ok().and_then(|value| value.into_string());
    let mut values = Dict::new();
    for setting in SETTINGS.iter().filter(|setting| !given.contains(setting.name)) {
        let value =
            match (setting.default, setting.name) {
                (Default::Is(_) | Default::Limit(_) | Default::None, _) => setting.default_text().unwrap_or_default(),
                (Default::Computed(_), "pools") => defaults::pools(),
                (Default::Computed(_), "redis_max_memory") => defaults::redis_max_memory(),
                (Default::Computed(_), "calls_per_second") => {
                    let login = on(given.find_value("login").ok()) == "true";
                    defaults::calls_per_second(text("listen").as_deref().unwrap_or("127.0.0.1:8700"), login).to_owned()
                }
                (Default::Computed(_), "max_per_address") => {
                    let all = given.find_value("max_connections").ok();
                    let all = all
                        .and_then(|all| all.to_u128().or_else(|| all.into_string()?.parse().ok()))
                        .unwrap_or_else(|| Limits::default().connections.into());
                    (all / 2).max(1).to_string()
                }
                (Default::Computed(_), "audit") => on(given.find_value("login").ok()).to_owned(),
                (Default::Computed(_), "data") => path_text(&defaults::data(env).ok_or_else(|| {
                    Invalid("there is no home directory to keep data in; say where with --data DIR or HERO_DATA".to_owned())
                })?),
                (Default::Computed(_), _) => continue, // Depends on other defaults.
            };
        values.insert(setting.name.to_owned(), value.into());
    }
    let all = given.join(Layer { source: DEFAULT.to_owned(), values });
    let data = all.find_value("data").ok().and_then(|value| value.into_string()).unwrap_or_default();
    let below = |name: &str| Value::from(path_text(&PathBuf::from(&data).join(name)));
    let values = Dict::from([("log_dir".to_owned(), below("logs")), ("audit_dir".to_owned(), below("audit"))]);
    Ok(all.join(Layer { source: DEFAULT.to_owned(), values }))
}

/// Returns the default of a switch that follows another one. An invalid value of the other is refused elsewhere.
fn on(other: Option<Value>) -> &'static str {
    let is_on = other.is_some_and(|value| value.to_bool().unwrap_or_else(|| value.as_str().is_some_and(|text| text == "true")));
    if is_on { "true" } else { "false" }
}

fn path_text(path: &std::path::Path) -> String {
    path.to_string_lossy().into_owned()
}

fn absolute(path: &std::path::Path, said: &str) -> Result<PathBuf, Invalid> {
    std::path::absolute(path).map_err(|error| Invalid(format!("{said}: {error}")))
}

/// Returns the exact origin of the value of `name`.
fn source_of(all: &Figment, name: &str) -> String {
    let setting = Setting::named(name);
    match all.find_metadata(name).map(|metadata| metadata.name.as_ref()) {
        Some(FLAG) => format!("flag --{}", setting.and_then(Setting::flag).unwrap_or_default()),
        Some(ENVIRONMENT) => format!("environment {}", setting.map(Setting::env).unwrap_or_default()),
        Some(source) => source.to_owned(),
        None => DEFAULT.to_owned(),
    }
}

/// Describes which value is wrong, its origin, and the reason.
fn explain(all: &Figment, error: figment::Error) -> String {
    let name = error.path.first().cloned().unwrap_or_default();
    let why = match &error.kind {
        Kind::Message(message) => message.clone(),
        Kind::UnknownVariant(given, known) => format!("{given:?} is not one of {}", known.join(", ")),
        kind => kind.to_string(),
    };
    format!("{name} ({}): {why}", source_of(all, &name))
}

/// Checks that the settings fit together.
fn check(settings: &Settings, scope: Scope, said: &dyn Fn(&str) -> String) -> Result<(), String> {
    if scope == Scope::Both && settings.contexts.iter().any(|context| settings.redis_of(*context).is_none()) {
        return Err("actors without a server need to know where the jobs are: --redis URL or HERO_REDIS".to_owned());
    }
    if scope == Scope::Server
        && !settings.insecure
        && !settings.login
        && let Some(public) = settings.listen.public()
    {
        return Err(format!(
            "{}: others can reach {public}, and whoever reaches it may run scripts; listen on 127.0.0.1, have callers log in with --login, or accept that with --insecure",
            said("listen"),
        ));
    }
    if scope == Scope::Server && !settings.contexts.contains(&ContextId(0)) {
        return Err(format!("{}: a server always has context 0; add it", said("contexts")));
    }
    let common = settings.common_redis();
    let fault = settings.redis.as_ref().and_then(|_| common.fault(said)).or_else(|| common.mismatch(said));
    if let Some(fault) = fault.or_else(|| context::fault(settings, said)).or_else(|| origins::fault(settings, said)) {
        return Err(fault);
    }
    if settings.lease < std::time::Duration::from_millis(200) {
        return Err(format!("{}: a lease below 200ms is lost at the next hiccup", said("lease")));
    }
    for (name, value) in [
        ("script_source", settings.script_source),
        ("script_memory", settings.script_memory),
        ("script_log", settings.script_log),
        ("script_result", settings.script_result),
        ("files_quota", settings.files_quota),
        ("audit_file_size", settings.audit_file_size),
        ("queue_length", settings.queue_length),
        ("max_connections", settings.max_connections.into()),
        ("max_per_address", settings.max_per_address.into()),
        ("max_batch", settings.max_batch.into()),
        ("max_request", settings.max_request),
        ("max_response", settings.max_response),
        ("calls_in_flight", settings.calls_in_flight.into()),
    ] {
        if value == 0 {
            return Err(format!("{}: 0 would let nothing through", said(name)));
        }
    }
    for (name, value) in
        [("held_per_connection", settings.held_per_connection), ("held_per_address", settings.held_per_address), ("held", settings.held)]
    {
        if value <= settings.max_request {
            return Err(format!("{}: the largest request has no room in it; take more than {}", said(name), said("max_request")));
        }
    }
    Ok(())
}
