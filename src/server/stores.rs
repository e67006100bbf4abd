//! Connects to the Redis of each context, according to the settings.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use anyhow::{Context as _, bail};

use super::settings::{self, ContextEndpoint, Durability, Settings};
use crate::model::{ContextId, ServerId};
use crate::store::{self, Barred, Endpoint, Managed, Periods, PrivateRedis, Store};

/// What to do where nothing listens at the address of a Redis.
const NOBODY: &str =
    "nothing listens there: start that Redis, or name another with --redis; without --redis, `hero serve` starts one of its own";

/// Returns a store for each context, and a description of the Redis that they use.
pub(crate) async fn connect(settings: &Settings, managed: Option<&Managed>, server: &ServerId) -> anyhow::Result<(Vec<Store>, String)> {
    let (mut stores, mut places, mut shown_so_far, mut said) = (Vec::new(), BTreeMap::new(), Vec::new(), BTreeSet::new());
    for &context in &settings.contexts {
        let settings = &settings.within(context);
        let (endpoint, shown) = match (settings.redis_of(context), managed) {
            (Some(given), _) => {
                let endpoint = endpoint(given);
                let shown = endpoint.shown();
                (endpoint, shown)
            }
            (None, Some(managed)) => {
                let program = managed.program().file_name().unwrap_or_default().display().to_string();
                (managed.endpoint().clone(), format!("private {program}, {}", managed.endpoint().shown()))
            }
            (None, None) => bail!("context {context} has no Redis"),
        };
        let of_store = store::Settings {
            endpoint,
            context,
            server: server.clone(),
            periods: periods(settings),
            queue_limit: usize::try_from(settings.queue_length).unwrap_or(usize::MAX),
            push: push(settings),
        };
        let cannot = || format!("cannot use the Redis at {shown}{}", for_context(context));
        let own = settings.context_endpoints.iter().any(|endpoint| endpoint.context == context);
        let (store, warnings) = match Store::connect(of_store).await {
            Ok(connected) => connected,
            Err(error) => {
                let silent = || error.is_silent().then(|| "it is stopped or busy, behind a wall, or no Redis at all".to_owned());
                // The error begins with the name of what it is about, which stands before it already.
                let told = error.to_string();
                let told = told.strip_prefix("Redis: ").unwrap_or(&told);
                let refused = || told.contains("Connection refused").then(|| NOBODY.to_owned());
                let advice = error.barred().map(|barred| advice(barred, own)).or_else(silent).or_else(refused);
                let advice = advice.map(|advice| format!("{}: {told}\n{advice}", cannot()));
                return Err(advice.map_or_else(|| anyhow::Error::new(error).context(cannot()), anyhow::Error::msg));
            }
        };
        store.limits().set_running(settings.max_running);
        let place = store.health().location().await.with_context(cannot)?;
        if let Some(other) = places.insert(place, context) {
            bail!("contexts {other} and {context} are the same database of the Redis at {shown}; give one of them another");
        }
        for warning in warnings {
            if said.insert((shown.clone(), warning.clone())) {
                tracing::warn!(redis = shown, "{warning}");
            }
        }
        if !shown_so_far.contains(&shown) {
            shown_so_far.push(shown);
        }
        stores.push(store);
    }
    Ok((stores, shown_so_far.join(" and ")))
}

/// Advises how to authenticate at Redis, with the names of the settings. `own` means the endpoint of a single context.
fn advice(barred: Barred, own: bool) -> String {
    let (user, file) = if own {
        ("redis_user", "redis_password_file in its [[context_endpoints]]".to_owned())
    } else {
        ("--redis-user", "--redis-password-file FILE or HERO_REDIS_PASSWORD".to_owned())
    };
    match barred {
        Barred::NoPassword => format!("it wants a password: give it by {file}, and the name of an ACL user, if it has one, by {user}"),
        Barred::WrongPassword => format!("it does not take this user or this password: check {user} and {file}, or the address"),
        Barred::NotAllowed => {
            "its ACL user may not do what hero needs; this is enough: ACL SETUSER NAME and what `hero redis acl` prints".to_owned()
        }
    }
}

/// Names a context, except context 0.
pub(crate) fn for_context(context: ContextId) -> String {
    if context == ContextId::default() { String::new() } else { format!(" for context {context}") }
}

fn endpoint(given: ContextEndpoint) -> Endpoint {
    Endpoint {
        url: given.redis,
        user: given.redis_user,
        password: given.redis_password.map(|password| password.reveal().to_owned()),
        tls_ca: given.redis_tls_ca,
        tls_identity: given.redis_tls_cert.zip(given.redis_tls_key),
    }
}

pub(crate) fn private(settings: &Settings, hero: PathBuf) -> PrivateRedis {
    let durability = match settings.durability {
        Durability::Everysec => store::Durability::EverySecond,
        Durability::Always => store::Durability::Always,
    };
    PrivateRedis { data: settings.data.clone(), durability, max_memory: settings.redis_max_memory, hero }
}

fn periods(settings: &Settings) -> Periods {
    Periods {
        lease: settings.lease,
        keep_finished: settings.retention_finished,
        keep_waited: settings.retention_waited,
        keep_error: settings.retention_error,
        keep_created: settings.retention_created,
    }
}

fn push(settings: &Settings) -> store::Push {
    match settings.push {
        settings::Push::Canonical => store::Push::Canonical,
        settings::Push::Both => store::Push::Both,
        settings::Push::Legacy => store::Push::Legacy,
    }
}
