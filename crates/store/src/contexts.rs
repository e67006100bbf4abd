use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use redis::{FromRedisValue, Pipeline, RedisError, RedisResult, Value};

use super::value::{Fields, Text};
use super::{Error, Settings, Store};
use crate::network::connection::RedisConnection;
use crate::views::Contexts;
use hero_model::{Context, ContextId, ContextLimits, ContextStatus, IdentityId, Role, Timestamp, tree};

/// The entry of a context in the list of contexts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Listed {
    /// The context exists, and its last change has this revision.
    At(f64),
    /// The context is in a Redis of its own. Only servers with a setting for it know where.
    Elsewhere,
    /// A server began to create the context at this time.
    Making(Timestamp),
}

/// Methods for the store of context 0, which holds the list of contexts.
impl Contexts<'_> {
    /// Returns the existing contexts, each with its entry in the list.
    pub async fn list(self) -> Result<BTreeMap<ContextId, Listed>, Error> {
        let mut range = redis::cmd("ZRANGE");
        range.arg(self.0.keys.contexts()).arg(0).arg(-1).arg("WITHSCORES");
        let listed: Vec<(Text, f64)> = self.0.commands.call(&range).await?;
        let one = |(id, score): (Text, f64)| {
            let how = match score {
                score if score.is_infinite() => Listed::Elsewhere,
                score if score < 0.0 => Listed::Making(Timestamp::from_millis(-score as i64)),
                score => Listed::At(score),
            };
            Some((ContextId(id.parse()?), how))
        };
        Ok(listed.into_iter().filter_map(one).collect())
    }
}

impl Store {
    /// Returns the store of another context in the same Redis, with the same settings.
    pub async fn beside(&self, context: ContextId) -> Result<Self, Error> {
        let settings = Settings { context, ..self.0.settings.clone() };
        Ok(Self::connect(settings).await?.0)
    }
}

impl Contexts<'_> {
    /// Returns access to the other databases of this Redis; nothing in a Redis Cluster, which has only one database.
    pub fn databases(self) -> Result<Option<Databases>, Error> {
        if self.0.signpost.is_some() {
            return Ok(None);
        }
        let client = self.0.settings.endpoint.client(self.0.keys.context().0)?;
        Ok(Some(Databases { link: RedisConnection::new(client)?, of: Store(Arc::clone(self.0)) }))
    }
}

impl Contexts<'_> {
    /// Returns the context as it is stored. An unchanged context has no hash, and nobody has rights in it.
    pub async fn own(self) -> Result<Context, Error> {
        let mut pipeline = Pipeline::new();
        pipeline.ignore_errors().cmd("HGETALL").arg(self.0.keys.rights()).cmd("STRLEN").arg(self.0.keys.closed());
        let answers = self.0.commands.each::<Value>(&pipeline).await?;
        read(self.0.keys.context(), &answers)
    }
}

/// The databases of one Redis over one connection, for contexts that are not in use. Each context costs this process only a few bytes then.
pub struct Databases {
    /// Every call on it chooses its database first.
    pub(super) link: RedisConnection,
    pub(super) of: Store,
}

/// The number of databases that one pipeline reads.
pub(super) const DATABASES_PER_PIPELINE: usize = 100;

impl Databases {
    /// Returns the contexts with these numbers, in the same order, as far as Redis has such databases. A context that cannot be read has an
    /// error of its own, because others may be readable.
    pub async fn contexts(&self, ids: &[ContextId]) -> Result<Vec<(ContextId, Result<Context, Error>)>, Error> {
        let mut contexts = Vec::with_capacity(ids.len());
        for part in ids.chunks(DATABASES_PER_PIPELINE) {
            let mut pipeline = Pipeline::new();
            for id in part {
                let keys = crate::keys::Keys::standalone(*id);
                self.choose(&mut pipeline, *id);
                pipeline.cmd("HGETALL").arg(keys.rights()).cmd("STRLEN").arg(keys.closed());
            }
            let answers = self.asked(&mut pipeline).await?;
            for (id, answers) in part.iter().zip(answers.chunks(3)) {
                contexts.extend(in_database(&answers[0], || read(*id, &answers[1..])).map(|context| (*id, context)));
            }
        }
        Ok(contexts)
    }

    /// Returns the number of keys of each database that has any, as of the context that it belongs to.
    pub async fn sizes(&self) -> Result<BTreeMap<ContextId, u64>, Error> {
        let info: String = self.link.call(redis::cmd("INFO").arg("keyspace")).await?;
        let first = self.of.0.settings.endpoint.database(0);
        let sizes = info.lines().filter_map(|line| {
            let (database, keys) = line.strip_prefix("db")?.split_once(":keys=")?;
            let context = database.parse::<i64>().ok()?.checked_sub(first)?;
            Some((ContextId(context.try_into().ok()?), keys.split(',').next()?.parse().ok()?))
        });
        Ok(sizes.collect())
    }

    pub(super) fn choose(&self, pipeline: &mut Pipeline, id: ContextId) {
        pipeline.cmd("SELECT").arg(self.of.0.settings.endpoint.database(id.0));
    }

    /// Runs the pipeline and returns the outcome of each command.
    pub(super) async fn asked(&self, pipeline: &mut Pipeline) -> Result<Vec<RedisResult<Value>>, Error> {
        pipeline.ignore_errors();
        let answers = self.link.each::<Value>(pipeline).await?;
        if answers.iter().any(|answer| answer.as_ref().err().is_some_and(crate::library::fcall::is_unknown_function)) {
            self.link.load_library().await?;
        }
        Ok(answers)
    }
}

/// Returns the values read in a database, given Redis' answer to SELECT; nothing if there is no database of this number. Otherwise the
/// values would be those of another context.
pub(super) fn in_database<T>(chosen: &RedisResult<Value>, read: impl FnOnce() -> Result<T, Error>) -> Option<Result<T, Error>> {
    match chosen {
        Ok(_) => Some(read()),
        Err(error) if error.detail().is_some_and(|detail| detail.contains("out of range")) => None,
        Err(error) => Some(Err(error.clone().into())),
    }
}

/// Converts the answer of a command; an error if Redis refused the command.
pub(super) fn answered<T: FromRedisValue>(answer: &RedisResult<Value>) -> Result<T, Error> {
    Ok(redis::from_redis_value(answer.clone()?).map_err(RedisError::from)?)
}

/// Builds a context from the answers to HGETALL of its hash and STRLEN of its deletion mark. A refused command must not count as a missing
/// key: that would be a context in which nobody has rights, or which is not being deleted.
fn read(id: ContextId, answers: &[RedisResult<Value>]) -> Result<Context, Error> {
    let [fields, is_closed] = answers else { return Err(Error::Closed) };
    let fields: Fields = match fields {
        // Another program has replaced the key by one of another type, so nobody has rights.
        Err(error) if error.code() == Some("WRONGTYPE") => Fields::default(),
        fields => answered(fields)?,
    };
    let is_closed = match is_closed {
        // Only a string marks the deletion.
        Err(error) if error.code() == Some("WRONGTYPE") => false,
        is_closed => answered::<u64>(is_closed)? > 0,
    };
    let mut context = Context::none(id);
    for role in Role::ALL {
        *context.of_mut(role) = listed(fields.get(role.list()));
    }
    (context.created_at, context.updated_at) = (seconds(fields.get("created_at")), seconds(fields.get("updated_at")));
    context.name = fields.get("name").and_then(|name| name.0.clone()).filter(|name| !name.is_empty());
    context.limits = fields.get("limits").and_then(|limits| limits_in(limits.0.as_deref()?)).unwrap_or_default();
    context.status = if is_closed { ContextStatus::Deleting } else { ContextStatus::Active };
    Ok(context)
}

/// Parses stored limits. Limits that another version added are ignored; an invalid text limits nothing.
fn limits_in(text: &str) -> Option<ContextLimits> {
    const NAMES: [&str; 7] =
        ["jobs_per_second", "queue_length", "max_running", "script_operations", "cpu_time", "objects_quota", "files_quota"];
    let mut all = tree(text).ok()?;
    all.as_object_mut()?.retain(|name, _| NAMES.contains(&name.as_str()));
    serde_json::from_value(all).ok()
}

/// Returns the identity numbers in a JSON list. Other entries are skipped.
fn listed(text: Option<&Text>) -> BTreeSet<IdentityId> {
    let all = text.and_then(|text| tree(text.0.as_deref()?).ok()).unwrap_or_default();
    all.as_array().into_iter().flatten().filter_map(|id| u32::try_from(id.as_u64()?).ok()).map(IdentityId).collect()
}

/// Parses a time in the format of the coordinator's specification.
pub(super) fn seconds(text: Option<&Text>) -> Option<Timestamp> {
    text.and_then(Text::parse::<i64>).map(|seconds| Timestamp::from_millis(seconds.saturating_mul(1000)))
}
