//! What other programs have made of keys, so that they cannot be read: each is left out of lists and named in the log, and holds up nothing else.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use redis::{FromRedisValue, Pipeline, RedisResult};

use super::codec::Fields;
use super::{Error, Store};

/// A key is named in the log again after so long, as long as it is found so.
const AGAIN: Duration = Duration::from_secs(600);
/// How many keys are named in the log in that time: others may spoil any number.
const MOST: usize = 200;

/// The keys that were named in the log, and when.
#[derive(Debug, Default)]
pub(super) struct Told(Mutex<HashMap<String, Instant>>);

/// What is to be said of a key.
#[derive(Debug, PartialEq, Eq)]
enum News {
    /// It was named lately, or others were that stand for it.
    Old,
    Key,
    /// So many were named lately that others are not from now on.
    Last,
}

impl Told {
    fn news(&self, key: &str, now: Instant) -> News {
        let mut told = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if told.get(key).is_some_and(|at| now.duration_since(*at) < AGAIN) {
            return News::Old;
        }
        if told.len() >= MOST {
            told.retain(|_, at| now.duration_since(*at) < AGAIN);
        }
        if told.len() >= MOST {
            return News::Old;
        }
        told.insert(key.to_owned(), now);
        if told.len() == MOST { News::Last } else { News::Key }
    }

    fn keys(&self) -> Vec<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).keys().cloned().collect()
    }
}

impl Store {
    /// Names a key in the log, once in a while, that another program has spoilt.
    fn tell_spoilt(&self, error: &Error) {
        let Error::Spoilt { key, .. } = error else { return };
        let context = self.context();
        match self.0.told.news(key, Instant::now()) {
            News::Old => {}
            News::Key => tracing::warn!(%context, key, "left out, because it cannot be read: {error}"),
            News::Last => {
                tracing::warn!(%context, key, "left out, because it cannot be read, as more than {MOST} others are, which are not named: {error}")
            }
        }
    }

    /// Names a key in the log, once in a while, that gave way.
    fn tell_deleted(&self, key: &str) {
        if self.0.told.news(key, Instant::now()) != News::Old {
            let context = self.context();
            tracing::warn!(%context, key, "a key that is for hero alone was of another type, because another program wrote there; it was deleted, so that all else goes on");
        }
    }

    /// Names those keys in the log, once in a while, of which another program has made something else: those that are named by no id, and of the others those
    /// that functions have met. Functions go on as if there were none, or delete what is for hero alone, and what they answer does not tell that.
    pub async fn name_spoilt(&self) -> Result<(), Error> {
        let mut kinds = self.keys().kinds();
        let [left_out, deleted] = self.take_spoilt().await?;
        for key in deleted {
            self.tell_deleted(&key);
        }
        let fixed = kinds.len();
        for key in left_out {
            // What foreign programs named is theirs, and has whatever type it has.
            if let Some(kind) = self.keys().kind_of(&key)
                && kinds[..fixed].iter().all(|(known, _)| *known != key)
            {
                kinds.push((key, kind));
            }
        }
        let mut look = Pipeline::with_capacity(kinds.len());
        for (key, _) in &kinds {
            look.cmd("TYPE").arg(key);
        }
        look.ignore_errors();
        let types = self.0.commands.each::<String>(&look).await?;
        for ((key, kind), found) in kinds.into_iter().zip(types) {
            let found = found.map_err(|error| Error::of_key(error, &key))?;
            if found != kind.as_str() && found != "none" {
                self.tell_spoilt(&Error::spoilt(key, kind.is_another()));
            }
        }
        Ok(())
    }

    /// The keys that the log has named since this process began, or lately, where there were very many.
    #[doc(hidden)]
    pub fn spoilt_keys(&self) -> Vec<String> {
        self.0.told.keys()
    }

    /// What was read of a key; nothing, where another program has spoilt it, which the log says then. What cannot be read now is an error all the same.
    pub(super) fn unspoilt<T: Default>(&self, read: Result<T, Error>) -> Result<T, Error> {
        match read {
            Err(error) if error.is_spoilt() => {
                self.tell_spoilt(&error);
                Ok(T::default())
            }
            read => read,
        }
    }

    /// The same for what became of one command of several.
    pub(super) fn unspoilt_key<T: Default>(&self, key: &str, read: RedisResult<T>) -> Result<T, Error> {
        self.unspoilt(read.map_err(|error| Error::of_key(error, key)))
    }

    /// What each of these commands gave, in their order, with the key that it read; nothing of a key that another program has spoilt, which the log says.
    pub(super) async fn each_unspoilt<T: FromRedisValue + Default>(
        &self,
        keys: &[String],
        pipeline: &mut Pipeline,
    ) -> Result<Vec<T>, Error> {
        if keys.is_empty() {
            return Ok(Vec::new());
        }
        pipeline.ignore_errors();
        let answers = self.0.commands.each::<T>(pipeline).await?;
        keys.iter().zip(answers).map(|(key, answer)| self.unspoilt_key(key, answer)).collect()
    }

    /// The same, where a key that another program has spoilt is an error that names it.
    pub(super) async fn each_whole<T: FromRedisValue>(&self, keys: &[String], pipeline: &mut Pipeline) -> Result<Vec<T>, Error> {
        if keys.is_empty() {
            return Ok(Vec::new());
        }
        pipeline.ignore_errors();
        let answers = self.0.commands.each::<T>(pipeline).await?;
        keys.iter().zip(answers).map(|(key, answer)| answer.map_err(|error| Error::of_key(error, key))).collect()
    }

    /// The fields of a hash: none where there is none. One that another program has spoilt is an error that says so.
    pub(super) async fn hash(&self, key: &str) -> Result<Fields, Error> {
        self.0.commands.call(redis::cmd("HGETALL").arg(key)).await
    }

    /// The fields of several hashes, for lists: none where there is none, nor where another program has spoilt it, which the log says.
    pub(super) async fn hashes(&self, keys: impl IntoIterator<Item = String>) -> Result<Vec<Fields>, Error> {
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
        let (told, now) = (Told::default(), Instant::now());
        assert_eq!([told.news("a", now), told.news("a", now)], [News::Key, News::Old]);
        for n in 2..MOST {
            assert_eq!(told.news(&n.to_string(), now), News::Key);
        }
        assert_eq!([told.news("b", now), told.news("c", now)], [News::Last, News::Old]);
        assert_eq!([told.news("a", now + AGAIN), told.news("c", now + AGAIN)], [News::Key, News::Key]);
    }
}
