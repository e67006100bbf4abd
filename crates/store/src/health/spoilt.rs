//! Keys that other programs have spoilt, so that they cannot be read. Each is left out of lists and named in the log, and holds up nothing
//! else.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use redis::{FromRedisValue, Pipeline, RedisResult};

use crate::value::Fields;
use crate::views::{Health, Maintenance};
use crate::{Error, Inner};

/// The interval at which a spoilt key is named in the log again.
const LOG_INTERVAL: Duration = Duration::from_secs(600);
/// After this time a repaired key makes room for others, and is named at once if it is spoilt again.
const REPAIRED_KEY_RETENTION: Duration = Duration::from_secs(60);
/// The most keys of a context that the log names in that time, because other programs may spoil any number.
const MAX_NAMED_KEYS: usize = 200;

/// The keys of a context that were named in the log.
#[derive(Debug, Default)]
pub(crate) struct LoggedKeys(Mutex<HashMap<String, LoggedKey>>);

/// The time when a key was named, and whether its type was wrong. Otherwise no quick check can show whether it has been repaired.
#[derive(Debug, Clone, Copy)]
struct LoggedKey {
    at: Instant,
    for_type: bool,
}

/// The message about a key.
#[derive(Debug, PartialEq, Eq)]
enum News {
    /// The key was named lately, or the limit of named keys was reached earlier.
    Old,
    Key,
    /// The limit is reached: further keys are not named from now on.
    Last,
}

impl LoggedKeys {
    fn news(&self, key: &str, now: Instant, for_type: bool) -> News {
        let mut told = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_lately = |named: &LoggedKey| now.duration_since(named.at) < LOG_INTERVAL;
        if told.get(key).is_some_and(is_lately) {
            return News::Old;
        }
        if told.len() >= MAX_NAMED_KEYS {
            told.retain(|_, named| is_lately(named));
        }
        if told.len() >= MAX_NAMED_KEYS {
            return News::Old;
        }
        told.insert(key.to_owned(), LoggedKey { at: now, for_type });
        if told.len() == MAX_NAMED_KEYS { News::Last } else { News::Key }
    }

    fn keys(&self) -> Vec<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).keys().cloned().collect()
    }

    /// Returns the keys that were named long enough ago to be forgotten if they are gone or have the right type again.
    fn maybe_mended(&self, now: Instant) -> Vec<(String, LoggedKey)> {
        let told = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        told.iter()
            .filter(|(_, named)| now.duration_since(named.at) >= REPAIRED_KEY_RETENTION)
            .map(|(key, named)| (key.clone(), *named))
            .collect()
    }

    fn forget(&self, key: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(key);
    }
}

impl Inner {
    /// Names a key in the log that another program has spoilt, but not too often.
    pub(crate) fn tell_spoilt(&self, error: &Error) {
        let Error::Spoilt { key, why } = error else { return };
        let context = self.keys.context();
        match self.logged_keys.news(key, Instant::now(), why.contains("of another type")) {
            News::Old => {}
            News::Key => tracing::warn!(%context, key, "left out, because it cannot be read: {error}"),
            News::Last => {
                tracing::warn!(%context, key, "left out, because it cannot be read, as more than {MAX_NAMED_KEYS} others are, which are not named: {error}")
            }
        }
    }

    /// Names a key in the log that hero deleted because it was spoilt, but not too often.
    pub(crate) fn tell_deleted(&self, key: &str) {
        if self.logged_keys.news(key, Instant::now(), true) != News::Old {
            let context = self.keys.context();
            tracing::warn!(%context, key, "a key that is for hero alone was of another type, because another program wrote there; it was deleted, so that all else goes on");
        }
    }
}

impl Maintenance<'_> {
    /// Names spoilt keys in the log, but not too often. It checks all keys without an id in their names; of the others, those that
    /// functions have met. Functions go on as if a spoilt key were missing, or delete it if only hero uses it, and their answers do not
    /// show it.
    pub async fn name_spoilt(self) -> Result<(), Error> {
        self.forget_mended(Instant::now()).await?;
        let mut kinds = self.0.keys.kinds();
        let [left_out, deleted] = self.0.take_spoilt().await?;
        for key in deleted {
            self.0.tell_deleted(&key);
        }
        let fixed = kinds.len();
        for key in left_out {
            // A key that foreign programs named belongs to them, and may have any type.
            if let Some(kind) = self.0.keys.kind_of(&key)
                && kinds[..fixed].iter().all(|(known, _)| *known != key)
            {
                kinds.push((key, kind));
            }
        }
        let types = self.0.types_of(kinds.iter().map(|(key, _)| key)).await?;
        for ((key, kind), found) in kinds.into_iter().zip(types) {
            if found != kind.as_str() && found != "none" {
                self.0.tell_spoilt(&Error::spoilt(key, kind.is_another()));
            }
        }
        Ok(())
    }

    /// Forgets the keys that have been repaired since they were named. So there is room for others, and they are named again if they are
    /// spoilt again.
    #[doc(hidden)]
    pub async fn forget_mended(self, now: Instant) -> Result<(), Error> {
        let (told, fixed) = (self.0.logged_keys.maybe_mended(now), self.0.keys.kinds());
        let types = self.0.types_of(told.iter().map(|(key, _)| key)).await?;
        for ((key, named), found) in told.iter().zip(types) {
            let kind = fixed.iter().find(|(known, _)| known == key).map(|(_, kind)| *kind).or_else(|| self.0.keys.kind_of(key));
            let is_right = || named.for_type && kind.is_some_and(|kind| found == kind.as_str());
            if found == "none" || is_right() {
                self.0.logged_keys.forget(key);
            }
        }
        Ok(())
    }
}

impl Inner {
    /// Returns the types of keys, in the words of Redis.
    async fn types_of(&self, keys: impl ExactSizeIterator<Item = &String>) -> Result<Vec<String>, Error> {
        let mut look = Pipeline::with_capacity(keys.len());
        for key in keys {
            look.cmd("TYPE").arg(key);
        }
        if look.is_empty() { Ok(Vec::new()) } else { self.commands.pipeline(&look).await }
    }
}

impl Health<'_> {
    /// Returns the keys that the log has named since this process began, or lately if there were very many.
    #[doc(hidden)]
    pub fn spoilt_keys(self) -> Vec<String> {
        self.0.logged_keys.keys()
    }
}

impl Inner {
    /// Returns the value read; an empty one if another program has spoilt the key, which is logged. Other errors are returned.
    pub(crate) fn unspoilt<T: Default>(&self, read: Result<T, Error>) -> Result<T, Error> {
        match read {
            Err(error) if error.is_spoilt() => {
                self.tell_spoilt(&error);
                Ok(T::default())
            }
            read => read,
        }
    }

    /// Like [`Self::unspoilt`], but for one command of several.
    pub(crate) fn unspoilt_key<T: Default>(&self, key: &str, read: RedisResult<T>) -> Result<T, Error> {
        self.unspoilt(read.map_err(|error| Error::of_key(error, key)))
    }

    /// Returns the result of each of these commands, in order, given the keys that they read; an empty one for a key that another program
    /// has spoilt, which is logged.
    pub(crate) async fn each_unspoilt<T: FromRedisValue + Default>(
        &self,
        keys: &[String],
        pipeline: &mut Pipeline,
    ) -> Result<Vec<T>, Error> {
        if keys.is_empty() {
            return Ok(Vec::new());
        }
        pipeline.ignore_errors();
        let answers = self.commands.each::<T>(pipeline).await?;
        keys.iter().zip(answers).map(|(key, answer)| self.unspoilt_key(key, answer)).collect()
    }

    /// Like [`Self::each_unspoilt`], but a key that another program has spoilt is an error that names it.
    pub(crate) async fn each_whole<T: FromRedisValue>(&self, keys: &[String], pipeline: &mut Pipeline) -> Result<Vec<T>, Error> {
        if keys.is_empty() {
            return Ok(Vec::new());
        }
        pipeline.ignore_errors();
        let answers = self.commands.each::<T>(pipeline).await?;
        keys.iter().zip(answers).map(|(key, answer)| answer.map_err(|error| Error::of_key(error, key))).collect()
    }

    /// Returns the fields of a hash: none if there is no hash. A hash that another program has spoilt is an error.
    pub(crate) async fn hash(&self, key: &str) -> Result<Fields, Error> {
        self.commands.call(redis::cmd("HGETALL").arg(key)).await
    }

    /// Returns the fields of several hashes, for lists: none for a missing hash, and none for one that another program has spoilt, which is
    /// logged.
    pub(crate) async fn hashes(&self, keys: impl IntoIterator<Item = String>) -> Result<Vec<Fields>, Error> {
        let keys: Vec<String> = keys.into_iter().collect();
        let mut pipeline = Pipeline::with_capacity(keys.len());
        for key in &keys {
            pipeline.cmd("HGETALL").arg(key);
        }
        self.each_unspoilt(&keys, &mut pipeline).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_named_once_in_a_while_and_not_more_of_them_than_a_log_takes() {
        let (told, now) = (LoggedKeys::default(), Instant::now());
        let news = |key: &str, now| told.news(key, now, true);
        assert_eq!([news("a", now), news("a", now)], [News::Key, News::Old]);
        for n in 2..MAX_NAMED_KEYS {
            assert_eq!(news(&n.to_string(), now), News::Key);
        }
        assert_eq!([news("b", now), news("c", now)], [News::Last, News::Old]);
        // A repaired key makes room, and is named again.
        assert!(told.maybe_mended(now).is_empty());
        assert_eq!(told.maybe_mended(now + REPAIRED_KEY_RETENTION).len(), MAX_NAMED_KEYS);
        told.forget("a");
        assert_eq!([news("a", now + REPAIRED_KEY_RETENTION), news("c", now + REPAIRED_KEY_RETENTION)], [News::Last, News::Old]);
        assert_eq!([news("b", now + LOG_INTERVAL), news("c", now + LOG_INTERVAL)], [News::Key, News::Key]);
    }
}
