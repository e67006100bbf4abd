use std::collections::BTreeSet;
use std::path::PathBuf;
use std::str::FromStr;

use figment::value::Value;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serde_json::json;

use super::context_settings::{self, MAX_CONTEXTS};
use super::{Secret, Settings};
use crate::model::ContextId;

/// The Redis of one context, with its credentials. The keys are named like the settings for the Redis of all other
/// contexts.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ContextEndpoint {
    /// The context.
    pub context: ContextId,
    /// The address.
    pub redis: String,
    /// The ACL user.
    #[serde(default)]
    pub redis_user: Option<String>,
    /// The password, given directly or read from its file.
    #[serde(default)]
    pub redis_password: Option<Secret>,
    /// The file that the password came from.
    #[serde(default)]
    pub redis_password_file: Option<PathBuf>,
    /// The certificate authority of a `rediss://` server.
    #[serde(default)]
    pub redis_tls_ca: Option<PathBuf>,
    /// The client certificate for a `rediss://` server.
    #[serde(default)]
    pub redis_tls_cert: Option<PathBuf>,
    /// The key of the client certificate.
    #[serde(default)]
    pub redis_tls_key: Option<PathBuf>,
}

impl Settings {
    /// Returns the Redis of a context; `None` if it is the private one.
    pub fn redis_of(&self, context: ContextId) -> Option<ContextEndpoint> {
        let own = self.context_endpoints.iter().find(|endpoint| endpoint.context == context);
        own.cloned().or_else(|| self.redis.is_some().then(|| ContextEndpoint { context, ..self.common_redis() }))
    }

    /// Returns the Redis of all contexts without their own. It has no address if it is the private one.
    pub(super) fn common_redis(&self) -> ContextEndpoint {
        ContextEndpoint {
            context: ContextId(0),
            redis: self.redis.clone().unwrap_or_default(),
            redis_user: self.redis_user.clone(),
            redis_password: self.redis_password.clone(),
            redis_password_file: self.redis_password_file.clone(),
            redis_tls_ca: self.redis_tls_ca.clone(),
            redis_tls_cert: self.redis_tls_cert.clone(),
            redis_tls_key: self.redis_tls_key.clone(),
        }
    }
}

impl ContextEndpoint {
    /// Describes the first fault. `said` formats the name of a setting with its origin.
    pub(super) fn fault(&self, said: &dyn Fn(&str) -> String) -> Option<String> {
        let scheme = self.redis.split_once("://").map_or("", |(scheme, _)| scheme);
        if !matches!(scheme, "redis" | "rediss" | "unix" | "redis+unix") {
            return Some(format!("{}: a Redis address begins with redis://, rediss:// or unix://", said("redis")));
        }
        if self.redis_tls_ca.is_some() && scheme != "rediss" {
            return Some(format!("{}: only rediss:// addresses use TLS", said("redis_tls_ca")));
        }
        None
    }

    /// Describes secrets or certificates that do not fit together.
    pub(super) fn mismatch(&self, said: &dyn Fn(&str) -> String) -> Option<String> {
        if self.redis_tls_cert.is_some() != self.redis_tls_key.is_some() {
            return Some(format!("{}: redis_tls_cert and redis_tls_key go together", said("redis_tls_cert")));
        }
        (self.redis_password.is_some() && self.redis_password_file.is_some())
            .then(|| format!("{} and {}: give one of them", said("redis_password"), said("redis_password_file")))
    }

    /// Returns the endpoint as a table, with secrets masked.
    pub(super) fn shown(&self, without_password: impl Fn(&str) -> String, masked: &str) -> Vec<(&'static str, serde_json::Value)> {
        let text = |value: &Option<String>| value.as_ref().map(|text| json!(text));
        let path = |path: &Option<PathBuf>| path.as_ref().map(|path| json!(path));
        let given = self.redis_password.is_some() && self.redis_password_file.is_none();
        let fields = [
            ("context", Some(json!(self.context))),
            ("redis", Some(json!(without_password(&self.redis)))),
            ("redis_user", text(&self.redis_user)),
            ("redis_password", given.then(|| json!(masked))),
            ("redis_password_file", path(&self.redis_password_file)),
            ("redis_tls_ca", path(&self.redis_tls_ca)),
            ("redis_tls_cert", path(&self.redis_tls_cert)),
            ("redis_tls_key", path(&self.redis_tls_key)),
        ];
        fields.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
    }
}

/// Parses `N=URL`.
impl FromStr for ContextEndpoint {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        // The text is not repeated, because it may contain a password.
        let bad = || "that is not a context and its Redis, such as 3=redis://other:6379".to_owned();
        let (context, url) = text.split_once('=').ok_or_else(bad)?;
        Ok(Self {
            context: ContextId(context.trim().parse().map_err(|_| bad())?),
            redis: url.trim().to_owned(),
            redis_user: None,
            redis_password: None,
            redis_password_file: None,
            redis_tls_ca: None,
            redis_tls_cert: None,
            redis_tls_key: None,
        })
    }
}

/// Parses endpoints from tables, from texts, or from texts separated by commas.
pub(super) fn endpoints<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<ContextEndpoint>, D::Error> {
    let endpoints: Result<Vec<ContextEndpoint>, String> = match <Value as Deserialize>::deserialize(from)? {
        Value::String(_, text) => text.split(',').map(str::trim).filter(|text| !text.is_empty()).map(str::parse).collect(),
        Value::Array(_, tables) => tables.iter().map(|table| super::value::read_table(table, "the key of a context's endpoint")).collect(),
        _ => Err("endpoints of contexts are tables: [[context_endpoints]]".to_owned()),
    };
    endpoints.map_err(D::Error::custom)
}

/// Parses the contexts to serve, like [`contexts`] or from the tables `[contexts.N]`.
pub(super) fn served<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<ContextId>, D::Error> {
    let contexts = match <Value as Deserialize>::deserialize(from)? {
        Value::Dict(_, tables) => context_settings::tables(&tables).map(|tables| tables.into_iter().map(|table| table.context).collect()),
        other => listed(other),
    };
    contexts.and_then(several).map_err(D::Error::custom)
}

/// Parses numbers and ranges such as `0-4`. Returns each number once, in order.
pub(super) fn contexts<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<ContextId>, D::Error> {
    listed(<Value as Deserialize>::deserialize(from)?).and_then(several).map_err(D::Error::custom)
}

fn listed(value: Value) -> Result<BTreeSet<ContextId>, String> {
    fn texts(value: Value) -> Option<Vec<String>> {
        Some(match value {
            Value::String(_, text) => text.split(',').map(|item| item.trim().to_owned()).collect(),
            Value::Num(_, number) => {
                let signed = number.to_i128().map(|number| number.to_string());
                vec![signed.or_else(|| Some(number.to_u128()?.to_string()))?]
            }
            Value::Array(_, items) => items.into_iter().map(texts).collect::<Option<Vec<_>>>()?.concat(),
            _ => return None,
        })
    }
    let texts = texts(value).ok_or("contexts are numbers, such as [0, 1, 2] or \"0-4\"")?;
    context_settings::numbers(texts.iter().map(String::as_str))
}

fn several(contexts: BTreeSet<ContextId>) -> Result<Vec<ContextId>, String> {
    match contexts.len() {
        0 => Err("at least one context is needed; the default is 0".to_owned()),
        count if count > MAX_CONTEXTS => Err(format!("{count} are more than {MAX_CONTEXTS} contexts")),
        _ => Ok(contexts.into_iter().collect()),
    }
}

/// Describes a conflict between contexts, their endpoints and the pools.
pub(super) fn fault(settings: &Settings, said: &dyn Fn(&str) -> String) -> Option<String> {
    let list = |contexts: &[ContextId]| contexts.iter().map(ContextId::to_string).collect::<Vec<_>>().join(", ");
    let known = list(&settings.contexts);
    if let Some(fault) = settings.of_contexts.iter().find_map(|one| one.fault(settings)) {
        return Some(format!("{}: {fault}", said("contexts")));
    }
    for (at, endpoint) in settings.context_endpoints.iter().enumerate() {
        let (context, place) = (endpoint.context, said("context_endpoints"));
        if !settings.contexts.contains(&context) {
            return Some(format!("{place}: context {context} is not configured (contexts: {known})"));
        }
        if settings.context_endpoints[..at].iter().any(|other| other.context == context) {
            return Some(format!("{place}: context {context} is given twice"));
        }
        let of = |name: &str| format!("{place}: context {context}: {name}");
        if let Some(fault) = endpoint.fault(&of).or_else(|| endpoint.mismatch(&of)) {
            return Some(fault);
        }
    }
    for (at, pool) in settings.pools.iter().enumerate() {
        let of = format!("{}: pool {}:{}", said("pools"), pool.script_type, pool.group);
        if let Some(unknown) = pool.contexts.iter().find(|context| !settings.contexts.contains(context)) {
            return Some(format!("{of} names context {unknown}, which is not configured (contexts: {known})"));
        }
        let twice = settings.pools[..at].iter().filter(|other| other.script_type == pool.script_type && other.group == pool.group);
        let shared = twice.flat_map(|other| &other.contexts).find(|context| pool.contexts.contains(context));
        if let Some(context) = shared {
            return Some(format!("{of} is given twice for context {context}; give one with all instances"));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contexts_are_numbers_and_ranges() {
        let read = |value: Value| {
            let contexts = contexts(&value).map_err(|error| error.to_string())?;
            Ok::<_, String>(contexts.iter().map(|context| context.0).collect::<Vec<_>>())
        };
        assert_eq!(read("0-2, 7,1".into()).unwrap(), [0, 1, 2, 7]);
        assert_eq!(read(3.into()).unwrap(), [3]);
        assert_eq!(read(Value::from(vec![4, 0])).unwrap(), [0, 4]);
        assert_eq!(read(Value::from(vec!["0-1", "9"])).unwrap(), [0, 1, 9]);
        for bad in ["", "x", "-1", "3-1", "0-", "0-100000", "1.5"] {
            assert!(read(bad.into()).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn an_endpoint_reads_from_one_word() {
        let endpoint: ContextEndpoint = "3=redis://u:p@h/1?x=y".parse().unwrap();
        assert_eq!((endpoint.context, endpoint.redis.as_str()), (ContextId(3), "redis://u:p@h/1?x=y"));
        for bad in ["", "redis://h", "x=redis://h"] {
            assert!(bad.parse::<ContextEndpoint>().is_err(), "{bad:?}");
        }
    }
}
