//! Reads the whole file of a flow even if parts of it are wrong. Parts that cannot be read are skipped and reported.

use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{DeserializeSeed, IgnoredAny, IntoDeserializer as _, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_saphyr::{DuplicateKeyPolicy, Options, Spanned};

use super::file::{Diagnostic, FileJob, FlowFile, Jobs, SourcePosition, known_keys, position};
use super::numbers::rounded;
use crate::model::nearest;

/// The maximum number of reported faults.
const MOST_TOLD: usize = 20;

/// The result of reading a file.
pub(super) struct Reading {
    /// The flow without the parts that could not be read; `None` if too little is left.
    pub(super) flow: Option<FlowFile>,
    /// The jobs of which a part was skipped.
    pub(super) maimed: HashSet<String>,
    /// The faults found so far.
    pub(super) faults: Vec<Diagnostic>,
}

/// A key in the file, and its owner.
struct Key {
    at: SourcePosition,
    job: Option<String>,
    field: Option<String>,
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.job, &self.field) {
            (Some(job), Some(field)) => write!(f, "jobs.{job}.{field}"),
            (Some(job), None) => write!(f, "jobs.{job}"),
            (None, field) => f.write_str(field.as_deref().unwrap_or_default()),
        }
    }
}

/// Reads a file.
pub(super) fn read(text: &str) -> Reading {
    // As in YAML 1.2: `yes`, `no`, `on`, `off`, `y` and `n` are texts.
    let mut options = Options::default();
    options.strict_booleans = true;
    let mut faults = Vec::new();
    let keys = loop {
        match serde_saphyr::from_str_with_options::<Level<Level<Level<IgnoredAny>>>>(text, options.clone()) {
            Ok(keys) => break in_order(keys),
            Err(error) => {
                let told = fault(&error, None);
                let is_first = matches!(options.duplicate_keys, DuplicateKeyPolicy::Error);
                let goes_on = is_first && told.message.ends_with("stands there twice");
                faults.push(told);
                if !goes_on {
                    return Reading { flow: None, maimed: HashSet::new(), faults };
                }
                options.duplicate_keys = DuplicateKeyPolicy::FirstWins;
            }
        }
    };
    let (unknown, mut left_out) = unknown_fields(&keys);
    faults.extend(unknown);
    faults.extend(rounded(text, options.clone()).into_iter().take(MOST_TOLD));
    let mut flow = None;
    while faults.len() < MOST_TOLD {
        let read =
            serde_saphyr::with_deserializer_from_str_with_options(text, options.clone(), |file| file.deserialize_map(Whole(&left_out)));
        match read {
            Ok(read) => {
                flow = Some(read);
                break;
            }
            Err(error) => {
                let at = error.location().and_then(position);
                let key = at.and_then(|at| keys.iter().rfind(|key| key.at <= at));
                faults.push(fault(&error, key));
                // Stop if the jobs cannot be read, or a skipped key fails again.
                if key.is_none_or(|key| key.to_string() == "jobs" || !left_out.insert(key.at)) {
                    break;
                }
            }
        }
    }
    let of_jobs = keys.into_iter().filter(|key| left_out.contains(&key.at));
    Reading { flow, maimed: of_jobs.filter_map(|key| key.job).collect(), faults }
}

/// Returns the keys of the flow and of its jobs, in the order of their locations.
fn in_order(flow: Level<Level<Level<IgnoredAny>>>) -> Vec<Key> {
    let mut keys = Vec::new();
    for (field, at, jobs) in flow.0 {
        let jobs = if field == "jobs" { jobs.0 } else { Vec::new() };
        keys.push(Key { at, job: None, field: Some(field) });
        for (job, at, fields) in jobs {
            keys.push(Key { at, job: Some(job.clone()), field: None });
            keys.extend(fields.0.into_iter().map(|(field, at, _)| Key { at, job: Some(job.clone()), field: Some(field) }));
        }
    }
    keys.sort_by_key(|key| key.at);
    keys
}

fn unknown_fields(keys: &[Key]) -> (Vec<Diagnostic>, HashSet<SourcePosition>) {
    let (mut faults, mut places) = (Vec::new(), HashSet::new());
    let (of_flow, of_job) = (known_keys::<FlowFile>(), known_keys::<FileJob>());
    for key in keys {
        let Some(field) = &key.field else { continue };
        let (whose, known) = match &key.job {
            Some(job) => (format!("jobs.{job}: "), &of_job),
            None => (String::new(), &of_flow),
        };
        if known.contains(field) || !places.insert(key.at) || faults.len() >= MOST_TOLD {
            continue;
        }
        faults.push(Diagnostic::new(Some(key.at), format!("{whose}{}", unknown_field(field, known))));
    }
    (faults, places)
}

/// Describes a field that does not exist. `known` are those that do.
pub(in crate::cli) fn unknown_field(field: &str, known: &[String]) -> String {
    let near = nearest(field, known);
    let meant = near.map_or_else(|| format!("those that there are: {}", known.join(", ")), |name| format!("is `{name}` meant?"));
    format!("unknown field `{field}`; {meant}")
}

/// Describes the fault of a key's value. The location is shown before the description.
fn fault(error: &serde_saphyr::Error, key: Option<&Key>) -> Diagnostic {
    let message = error.without_snippet().to_string();
    let message = message.lines().next().unwrap_or_default();
    let message = message.rsplit_once(" at line ").map_or(message, |(message, _)| message);
    let told = match message.strip_prefix("duplicate mapping key: ").and_then(|rest| rest.split(',').next()) {
        Some(key) => format!("{key} stands there twice"),
        None if message == "invalid u32" => format!("is a whole number from 0 to {}", u32::MAX),
        None => message.to_owned(),
    };
    let told = key.map_or_else(|| told.clone(), |key| format!("{key}: {told}"));
    Diagnostic::new(error.location().and_then(position), told)
}

/// The keys of a map with their locations and values; empty if the value is not a map.
struct Level<T>(Vec<(String, SourcePosition, T)>);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Level<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Keys<T>(PhantomData<T>);

        macro_rules! no_map {
            ($($visit:ident: $type:ty),*) => {
                $(fn $visit<E>(self, _: $type) -> Result<Level<T>, E> {
                    Ok(Level(Vec::new()))
                })*
            };
        }

        impl<'de, T: Deserialize<'de>> Visitor<'de> for Keys<T> {
            type Value = Level<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("anything")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Level<T>, A::Error> {
                let mut keys = Vec::new();
                while let Some(key) = map.next_key::<Spanned<String>>()? {
                    let value = map.next_value()?;
                    if let Some(at) = position(key.referenced) {
                        keys.push((key.value, at, value));
                    }
                }
                Ok(Level(keys))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Level<T>, A::Error> {
                while list.next_element::<IgnoredAny>()?.is_some() {}
                Ok(Level(Vec::new()))
            }

            fn visit_unit<E>(self) -> Result<Level<T>, E> {
                Ok(Level(Vec::new()))
            }

            fn visit_none<E>(self) -> Result<Level<T>, E> {
                Ok(Level(Vec::new()))
            }

            no_map!(visit_bool: bool, visit_i64: i64, visit_i128: i128, visit_u64: u64, visit_u128: u128, visit_f64: f64, visit_str: &str, visit_bytes: &[u8]);
        }

        deserializer.deserialize_any(Keys(PhantomData))
    }
}

/// Reads the flow without the skipped keys.
struct Whole<'s>(&'s HashSet<SourcePosition>);

impl<'de> Visitor<'de> for Whole<'_> {
    type Value = FlowFile;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a flow")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<FlowFile, A::Error> {
        let mut jobs = Jobs::default();
        let fields = Fields { inner: map, left_out: self.0, jobs: Some(&mut jobs), is_read: false };
        let mut flow = FlowFile::deserialize(MapAccessDeserializer::new(fields))?;
        flow.jobs = jobs;
        Ok(flow)
    }
}

/// Reads the jobs. A skipped job stays as an empty one.
struct AllJobs<'s>(&'s HashSet<SourcePosition>);

impl<'de> DeserializeSeed<'de> for AllJobs<'_> {
    type Value = Jobs;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Jobs, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for AllJobs<'_> {
    type Value = Jobs;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("jobs by their names")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Jobs, A::Error> {
        let mut jobs = BTreeMap::new();
        while let Some(name) = map.next_key::<Spanned<String>>()? {
            let job = if position(name.referenced).is_some_and(|at| self.0.contains(&at)) {
                map.next_value::<IgnoredAny>()?;
                FileJob::default()
            } else {
                map.next_value_seed(OneJob(self.0))?
            };
            jobs.insert(name.value, (name.referenced, job));
        }
        Ok(Jobs(jobs))
    }
}

/// Reads a job without the skipped keys.
struct OneJob<'s>(&'s HashSet<SourcePosition>);

impl<'de> DeserializeSeed<'de> for OneJob<'_> {
    type Value = FileJob;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<FileJob, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for OneJob<'_> {
    type Value = FileJob;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a job")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<FileJob, A::Error> {
        let fields = Fields { inner: map, left_out: self.0, jobs: None, is_read: false };
        FileJob::deserialize(MapAccessDeserializer::new(fields))
    }
}

/// The entries of a map without the skipped keys.
struct Fields<'s, A> {
    inner: A,
    left_out: &'s HashSet<SourcePosition>,
    /// The target for jobs, if this map is a flow.
    jobs: Option<&'s mut Jobs>,
    /// Whether the value of the current key was stored there.
    is_read: bool,
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Fields<'_, A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, A::Error> {
        while let Some(key) = self.inner.next_key::<Spanned<String>>()? {
            if position(key.referenced).is_some_and(|at| self.left_out.contains(&at)) {
                self.inner.next_value::<IgnoredAny>()?;
                continue;
            }
            self.is_read = false;
            if key.value == "jobs"
                && let Some(jobs) = &mut self.jobs
            {
                **jobs = self.inner.next_value_seed(AllJobs(self.left_out))?;
                self.is_read = true;
            }
            return seed.deserialize(key.value.into_deserializer()).map(Some);
        }
        Ok(None)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, A::Error> {
        if self.is_read { seed.deserialize(().into_deserializer()) } else { self.inner.next_value_seed(seed) }
    }
}
