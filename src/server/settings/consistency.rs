//! Checks that settings fit together and fit the program. Refuses those that cannot work, and warns of those without
//! effect.

use std::time::Duration;

use super::context_settings::LEAST_SCRIPT_MEMORY;
use super::{Scope, Settings, nodes};
use crate::actor::Mask;
use crate::model::{nearest, size_text};

/// An empty Redis already uses a few megabytes.
const LEAST_REDIS: u64 = 16 << 20;
/// People who must log in too often write down how.
const LEAST_LOGIN: Duration = Duration::from_secs(60);
/// A token for a longer time is made on purpose.
const MOST_LOGIN: Duration = Duration::from_secs(365 * 24 * 60 * 60);
/// Even a job with a short script and the text about it take some of it.
const LEAST_MESSAGE: u64 = 4 << 10;

/// Returns the first setting that cannot work. `said` formats the name of a setting with its origin. A default above a
/// limit is no fault, because nobody chose it.
pub(super) fn fault(settings: &Settings, scope: Scope, is_given: &dyn Fn(&str) -> bool, said: &dyn Fn(&str) -> String) -> Option<String> {
    let wrong = |name: &str, why: &str| Some(format!("{}: {why}", said(name)));
    if let Err(error) = Mask::new(&settings.mask) {
        return wrong("mask", &error.to_string());
    }
    if let Err(why) = log_level(&settings.log_level) {
        return wrong("log_level", &why);
    }
    if settings.redis.is_none() {
        let login = [
            ("redis_user", settings.redis_user.is_some()),
            ("redis_password", settings.redis_password.is_some()),
            ("redis_password_file", settings.redis_password_file.is_some()),
            ("redis_tls_ca", settings.redis_tls_ca.is_some()),
            ("redis_tls_cert", settings.redis_tls_cert.is_some()),
            ("redis_tls_key", settings.redis_tls_key.is_some()),
        ];
        if let Some((name, _)) = login.into_iter().find(|(_, given)| *given) {
            return wrong(name, "there is no Redis to use it at; name yours with --redis URL, or leave it out: a private Redis needs none");
        }
    }
    if settings.audit_quota > 0 && settings.audit_quota < 2 * settings.audit_file_size {
        return wrong("audit_quota", &format!("it has to have room for two files of {}; 0 is no limit", said("audit_file_size")));
    }
    let kept = [
        ("retention_finished", settings.retention_finished),
        ("retention_waited", settings.retention_waited),
        ("retention_error", settings.retention_error),
        ("retention_created", settings.retention_created),
    ];
    if let Some((name, _)) = kept.into_iter().find(|(_, time)| time.as_millis() < 1000) {
        return wrong(name, "a job that is gone at once cannot be asked for its end; take 1s or more");
    }
    if scope == Scope::Server
        && let Some(fault) = nodes::fault(settings, said)
    {
        return Some(fault);
    }
    if scope == Scope::Server && !(LEAST_LOGIN..=MOST_LOGIN).contains(&settings.login_lifetime) {
        return wrong("login_lifetime", "a login lasts from 1m to 365d");
    }
    for (name, given, other) in [("tls_cert", settings.tls_cert.is_some(), "tls_key"), ("tls_key", settings.tls_key.is_some(), "tls_cert")]
    {
        if given && settings.tls_cert.is_some() != settings.tls_key.is_some() {
            return wrong(name, &format!("a certificate is of no use without its key; give {other}, too"));
        }
    }
    if settings.script_memory < LEAST_SCRIPT_MEMORY {
        return wrong("script_memory", "no script runs in less than 1MB");
    }
    // The first of each pair is useless above the second.
    let mut pairs = vec![
        ("script_result", settings.script_result, "script_memory", settings.script_memory, "no script can hold a result as large as that"),
        ("script_source", settings.script_source, "script_memory", settings.script_memory, "no engine can hold a script as long as that"),
    ];
    if scope == Scope::Server {
        let private = settings.contexts.iter().any(|context| settings.redis_of(*context).is_none());
        if private && (1..LEAST_REDIS).contains(&settings.redis_max_memory) {
            return wrong("redis_max_memory", "no job fits into less than 16MB; 0 is no limit");
        }
        pairs.push((
            "script_result",
            settings.script_result,
            "max_response",
            settings.max_response,
            "no response has room for such a result",
        ));
        pairs.push(("script_source", settings.script_source, "max_request", settings.max_request, "no request has room for such a script"));
        for (name, bytes) in [("max_request", settings.max_request), ("max_response", settings.max_response)] {
            if bytes < LEAST_MESSAGE {
                return wrong(name, "no job fits into less than 4KB");
            }
            if bytes > u32::MAX.into() {
                return wrong(name, "at most 4095MB are possible");
            }
        }
    }
    let above = pairs.into_iter().find(|(name, size, _, limit, _)| size > limit && is_given(name));
    above.map(|(name, _, limit, most, why)| {
        format!("{}: {why}; it may not be above {}, which is {}", said(name), said(limit), size_text(most))
    })
}

/// Returns one line for every setting that will not have its expected effect.
pub(super) fn warnings(settings: &Settings, scope: Scope, is_given: &dyn Fn(&str) -> bool, said: &dyn Fn(&str) -> String) -> Vec<String> {
    let mut warnings = Vec::new();
    let mut warn = |name: &str, why: &str| warnings.push(format!("{} {why}", said(name)));
    for pattern in settings.mask.iter().filter(|pattern| Mask::looks_like_a_regular_expression(pattern)) {
        let why = format!("has {pattern:?}, which reads like a regular expression and is none: only * is special, such as in tok_*");
        warn("mask", &why);
    }
    let of_contexts = settings.of_contexts.iter().flat_map(|one| one.warnings(settings, said));
    warnings.extend(of_contexts);
    let mut warn = |name: &str, why: &str| warnings.push(format!("{} {why}", said(name)));
    let with = |own: bool| settings.contexts.iter().any(|context| settings.redis_of(*context).is_none() == own);
    if scope == Scope::Server && !with(true) {
        for name in ["redis_max_memory", "durability"] {
            if is_given(name) {
                warn(name, "has no effect: it is for the private Redis, and every context has one of yours, which decides that itself");
            }
        }
    }
    let has_own = |context| settings.context_endpoints.iter().any(|endpoint| endpoint.context == context);
    if settings.redis.is_some() && settings.contexts.iter().all(|context| has_own(*context)) {
        warn("redis", "has no effect: every context has a Redis of its own in context_endpoints");
    }
    for name in ["audit_dir", "audit_key_file", "audit_file_size", "audit_quota"] {
        if !settings.audit && is_given(name) {
            warn(name, &format!("has no effect: nothing is recorded, as {} says", said("audit")));
        }
    }
    if settings.log_quota > 0 && settings.script_log > settings.log_quota {
        warn("script_log", &format!("has no effect as far as it is above {}: no log file is kept that is larger", said("log_quota")));
    }
    if scope == Scope::Server && settings.login && settings.tls_cert.is_none() && settings.listen.public().is_some() {
        warn("login", "lets tokens go over the network as they are: give tls_cert and tls_key, or have a proxy in front that speaks TLS");
    }
    if scope == Scope::Server {
        // An explicit value that is too large is refused, not warned of.
        let wider = [
            ("script_source", settings.script_source, "max_request", settings.max_request, "scripts"),
            ("script_result", settings.script_result, "max_response", settings.max_response, "results"),
        ];
        for (name, size, all, limit, what) in wider {
            if size > limit && is_given(all) {
                warn(all, &format!("has no room for {what} as large as {} lets them be", said(name)));
            }
        }
        let narrower = [
            ("max_per_address", u64::from(settings.max_per_address), "max_connections", u64::from(settings.max_connections)),
            ("held_per_connection", settings.held_per_connection, "held_per_address", settings.held_per_address),
            ("held_per_address", settings.held_per_address, "held", settings.held),
        ];
        for (name, value, all, of_all) in narrower {
            if value > of_all && is_given(name) {
                warn(name, &format!("has no effect, because it is above {}", said(all)));
            }
        }
    }
    warnings
}

/// Checks directives for the log.
fn log_level(text: &str) -> Result<(), String> {
    const LEVELS: [&str; 6] = ["error", "warn", "info", "debug", "trace", "off"];
    let is_level = |word: &str| LEVELS.contains(&word.to_ascii_lowercase().as_str());
    let forms = "a level is one of error, warn, info, debug, trace, off, and directives are such as hero=debug,warn";
    for word in text.split(',') {
        // The filter takes a bare word that is no level for the name of a program's module, and would show everything
        // of it.
        if !word.contains(['=', '[', ']', '{', '}']) && !is_level(word) {
            return Err(match nearest(word, LEVELS) {
                Some(nearest) => format!("{word:?} is not a level; did you mean {nearest}?"),
                None => format!("{word:?} is not a level: {forms}"),
            });
        }
        if let Some((part, level)) = word.split_once('=').filter(|_| !word.contains(['[', '{'])) {
            if !is_level(level) {
                return Err(format!("{level:?} in {word:?} is not a level: {forms}"));
            }
            let root = part.split("::").next().unwrap_or(part);
            if root != "hero" && nearest(root, ["hero"]).is_some() {
                return Err(format!("there is nothing called {root:?} in {word:?}; did you mean hero?"));
            }
        }
    }
    tracing_subscriber::EnvFilter::try_new(text).map(drop).map_err(|error| format!("{text:?}: {error}; {forms}"))
}

#[cfg(test)]
mod tests {
    use super::log_level;

    #[test]
    fn only_levels_and_directives_say_what_is_logged() {
        for good in ["info", "WARN", "off", "hero=debug,warn", "warn,hero_store=trace", "redis=info,error", "hero[job{id=x}]=debug"] {
            assert!(log_level(good).is_ok(), "{good}: {:?}", log_level(good));
        }
        for (bad, said) in [
            ("inof", "did you mean info?"),
            ("verbose", "is not a level: a level is one of"),
            ("", "is not a level"),
            ("info,", "is not a level"),
            ("hero", "is not a level"),
            ("hero=loud", "\"loud\" in \"hero=loud\" is not a level"),
            ("heor=debug", "did you mean hero?"),
        ] {
            let error = log_level(bad).unwrap_err();
            assert!(error.contains(said), "{bad}: {error}");
        }
    }
}
