use std::collections::BTreeSet;

use figment::value::{Dict, Value};
use serde::Deserialize;
use serde_json::json;

use super::{Settings, grant, value};
use crate::engine::Capability;
use crate::model::{ContextId, size_text};

/// The maximum number of contexts of a process. Each has its own connections, so a larger number is a typing error.
pub(super) const MAX_CONTEXTS: usize = 256;
/// No script runs in less, because the engine itself needs some of it.
pub(super) const LEAST_SCRIPT_MEMORY: u64 = 1 << 20;

/// The configuration of one context: its limits, which are narrower than those of all contexts, and the most its
/// scripts are granted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContextSettings {
    /// The context.
    pub context: ContextId,
    limits: Table,
}

/// The keys of `[contexts.N]`, named like the settings for all contexts.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    script_source: Option<Bytes>,
    script_memory: Option<Bytes>,
    script_operations: Option<Count>,
    script_strict: Option<Switch>,
    script_log: Option<Bytes>,
    script_result: Option<Bytes>,
    process_memory: Option<Bytes>,
    max_running: Option<Count>,
    queue_length: Option<Count>,
    files_quota: Option<Bytes>,
    #[serde(default, deserialize_with = "grant::capabilities")]
    capabilities: Option<Vec<Capability>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
struct Bytes(#[serde(deserialize_with = "value::size")] u64);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
struct Count(#[serde(deserialize_with = "value::count")] u64);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
struct Switch(#[serde(deserialize_with = "value::switch")] bool);

/// One limit of a context.
struct Limit {
    name: &'static str,
    /// The value given for the context.
    own: Option<u64>,
    /// The value for all contexts, if that is a limit.
    common: Option<u64>,
    is_size: bool,
    /// Sets the value in settings.
    set: fn(&mut Settings, u64),
}

impl Limit {
    fn text(&self, number: u64) -> String {
        if self.is_size { size_text(number) } else { number.to_string() }
    }
}

impl ContextSettings {
    fn read(key: &str, table: &Value) -> Result<Vec<Self>, String> {
        let of = |why: String| format!("context {key}: {why}");
        let limits: Table = value::table(table, "the key").map_err(of)?;
        let contexts = numbers([key])?;
        Ok(contexts.into_iter().map(|context| Self { context, limits: limits.clone() }).collect())
    }

    /// Returns the numeric limits, with those of all contexts.
    fn limits(&self, settings: &Settings) -> [Limit; 9] {
        type Set = fn(&mut Settings, u64);
        let size = |name, own: Option<Bytes>, common, set: Set| Limit {
            name,
            own: own.map(|Bytes(own)| own),
            common: Some(common),
            is_size: true,
            set,
        };
        // Zero means no limit in the settings of all contexts.
        let count = |name, own: Option<Count>, common, set: Set| {
            let common = Some(common).filter(|common| *common > 0);
            Limit { name, own: own.map(|Count(own)| own), common, is_size: false, set }
        };
        let (given, all) = (&self.limits, settings);
        [
            size("script_source", given.script_source, all.script_source, |within, own| within.script_source = own),
            size("script_memory", given.script_memory, all.script_memory, |within, own| within.script_memory = own),
            count("script_operations", given.script_operations, all.script_operations, |within, own| within.script_operations = own),
            size("script_log", given.script_log, all.script_log, |within, own| within.script_log = own),
            size("script_result", given.script_result, all.script_result, |within, own| within.script_result = own),
            // Each script type has its own default for all contexts.
            Limit { common: None, ..size("process_memory", given.process_memory, 0, |_, _| {}) },
            count("max_running", given.max_running, all.max_running as u64, |within, own| {
                within.max_running = usize::try_from(own).unwrap_or(usize::MAX);
            }),
            count("queue_length", given.queue_length, all.queue_length, |within, own| within.queue_length = own),
            size("files_quota", given.files_quota, all.files_quota, |within, own| within.files_quota = own),
        ]
    }

    /// Describes the first fault.
    pub(super) fn fault(&self, settings: &Settings) -> Option<String> {
        let of = |name: &str, why: &str| Some(format!("context {}: {name}: {why}", self.context));
        for limit in self.limits(settings) {
            match (limit.own, limit.is_size) {
                (Some(0), true) => return of(limit.name, "0 would let nothing through"),
                (Some(0), false) => return of(limit.name, "0 is no limit; leave it out instead"),
                _ => {}
            }
        }
        if self.limits.script_memory.is_some_and(|Bytes(memory)| memory < LEAST_SCRIPT_MEMORY) {
            return of("script_memory", "no script runs in less than 1MB");
        }
        if self.limits.process_memory.is_some_and(|Bytes(memory)| memory < super::script_type::LEAST_MEMORY) {
            return of("process_memory", "no interpreter starts with less than 16MB");
        }
        None
    }

    /// Warns of values without effect. `said` formats the name of a setting with its origin.
    pub(super) fn warnings(&self, settings: &Settings, said: &dyn Fn(&str) -> String) -> Vec<String> {
        let above = |limit: Limit| {
            let common = limit.common.filter(|common| limit.own.is_some_and(|own| own > *common))?;
            let (name, common) = (limit.name, limit.text(common));
            Some(format!("{name} has no effect, because it is above {}, which is {common}", said(name)))
        };
        let strict = self.limits.script_strict == Some(Switch(false)) && settings.script_strict;
        let strict = strict.then(|| format!("script_strict has no effect, because {} is true", said("script_strict")));
        let all = self.limits(settings).into_iter().filter_map(above).chain(strict).chain(self.unused_grants(settings));
        all.map(|why| format!("{}: context {}: {why}", said("contexts"), self.context)).collect()
    }

    /// Warns of grants that no pool of the context can use. If this process has no such pool, other processes may have
    /// one.
    fn unused_grants(&self, settings: &Settings) -> Vec<String> {
        let of_rhai = settings.pools.iter().filter(|pool| pool.script_type.is_built_in());
        let pools: Vec<_> = of_rhai.filter(|pool| pool.contexts.contains(&self.context)).collect();
        let is_unused = |capability: &&Capability| !pools.is_empty() && !pools.iter().any(|pool| pool.granted().contains(capability));
        let why = |capability: &Capability| {
            let name = capability.name();
            format!("capabilities: {name} has no effect, because no pool of the context is granted it; add it to capabilities of a pool")
        };
        self.limits.capabilities.iter().flatten().filter(is_unused).map(why).collect()
    }

    /// Returns its table, as it was given.
    pub(super) fn shown(&self, settings: &Settings) -> Vec<(&'static str, serde_json::Value)> {
        let shown = |limit: Limit| {
            let own = limit.own?;
            Some((limit.name, if limit.is_size { json!(limit.text(own)) } else { json!(own) }))
        };
        let strict = self.limits.script_strict.map(|Switch(strict)| ("script_strict", json!(strict)));
        let capabilities = self.limits.capabilities.as_ref().map(|granted| ("capabilities", json!(granted)));
        self.limits(settings).into_iter().filter_map(shown).chain(strict).chain(capabilities).collect()
    }
}

impl Settings {
    /// Returns the settings within one context: each limit is the lower one of all contexts and of this context.
    pub fn within(&self, context: ContextId) -> Self {
        let mut within = self.clone();
        let Some(of_context) = self.of_contexts.iter().find(|one| one.context == context) else { return within };
        for limit in of_context.limits(self) {
            if let Some(own) = limit.own.filter(|own| limit.common.is_none_or(|common| *own < common)) {
                (limit.set)(&mut within, own);
            }
        }
        within.script_strict |= of_context.limits.script_strict == Some(Switch(true));
        within
    }

    /// Returns the grants of a pool's scripts in a context: those that both the pool and the context have.
    pub fn granted_in(&self, context: ContextId, of_pool: &[Capability]) -> Vec<Capability> {
        let most = self.of_contexts.iter().find(|one| one.context == context).and_then(|one| one.limits.capabilities.as_ref());
        of_pool.iter().filter(|capability| most.is_none_or(|most| most.contains(capability))).copied().collect()
    }

    /// Returns the limit of memory for the data of one process of a job in a context, if the context has one.
    pub fn process_memory(&self, context: ContextId) -> Option<u64> {
        let of_context = self.of_contexts.iter().find(|one| one.context == context)?;
        of_context.limits.process_memory.map(|Bytes(memory)| memory)
    }
}

/// Parses the tables `[contexts.N]`, in the order of the contexts.
pub(super) fn tables(tables: &Dict) -> Result<Vec<ContextSettings>, String> {
    let mut all = Vec::new();
    for (key, table) in tables {
        all.extend(ContextSettings::read(key, table)?);
    }
    all.sort_by_key(|one| one.context);
    let mut seen = BTreeSet::new();
    match all.iter().find(|one| !seen.insert(one.context)) {
        Some(twice) => Err(format!("context {} is given twice", twice.context)),
        None => Ok(all),
    }
}

/// Parses numbers and ranges of contexts.
pub(super) fn numbers<'a>(texts: impl IntoIterator<Item = &'a str>) -> Result<BTreeSet<ContextId>, String> {
    let mut contexts = BTreeSet::new();
    for text in texts.into_iter().filter(|text| !text.is_empty()) {
        let (first, last) = text.split_once('-').unwrap_or((text, text));
        let number = |text: &str| text.trim().parse::<u32>().ok();
        let range = number(first).zip(number(last)).filter(|(first, last)| first <= last);
        let (first, last) = range.ok_or_else(|| format!("{text:?} is not a context or a range such as 0-4"))?;
        if (last - first) as usize >= MAX_CONTEXTS {
            return Err(format!("{text} is more than {MAX_CONTEXTS} contexts"));
        }
        contexts.extend((first..=last).map(ContextId));
    }
    Ok(contexts)
}
