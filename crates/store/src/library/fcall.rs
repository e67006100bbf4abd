//! Calling, loading and deleting functions of the library.

use std::time::Duration;

use redis::{Arg, Cmd, ErrorKind, FromRedisValue, RedisError, ServerErrorKind};

use crate::error::Error;
use crate::keys::Keys;
use crate::library::{LIBRARY, Library, PUBLIC_LIBRARY, PUBLIC_NAME};
use crate::network::connection::{RedisConnection, first_sent};
use crate::views::Maintenance;
use crate::{Inner, Periods, ServerId};
use hero_model::{ContextId, Timestamp};

/// A library that was not called for this long belongs to no living server: a server calls a function every second.
const ABANDONED_AFTER: Duration = Duration::from_secs(600);

/// A function of the library, named after its file.
pub(crate) struct Function(pub(crate) &'static str);

impl Function {
    /// Begins a call; arguments follow. In a cluster the key lets Redis check that the call reached the right node.
    pub(crate) fn call(&self, key: Option<&str>) -> Cmd {
        let mut cmd = redis::cmd("FCALL");
        cmd.arg(LIBRARY.function(self.0)).arg(usize::from(key.is_some())).arg(key);
        cmd
    }
}

impl RedisConnection {
    /// Calls a function of the library, and loads the library if this Redis does not have it.
    ///
    /// A Redis that is full, or whose user may load nothing, gets the library as a script, because jobs must still be recorded, renewed and
    /// released.
    pub(crate) async fn function<T: FromRedisValue>(&self, call: &Cmd) -> Result<T, Error> {
        self.function_and_then(call, || {}).await
    }

    /// Like [`Self::function`], but calls `sent` as soon as the call is on its way. Commands that `sent` sends on this connection come after the
    /// call.
    pub(crate) async fn function_and_then<T: FromRedisValue>(&self, call: &Cmd, sent: impl Fn()) -> Result<T, Error> {
        if self.home().library_refusal.lasts() {
            return self.as_script(call, sent).await;
        }
        match first_sent(self.call(call), &sent).await {
            Err(Error::Redis(error)) if is_unknown_function(&error) => {
                self.load_library().await?;
                if self.home().library_refusal.lasts() {
                    self.as_script(call, sent).await
                } else {
                    first_sent(self.call(call), &sent).await
                }
            }
            answer => answer,
        }
    }

    /// Loads the library into this Redis, or records that Redis refuses to load it.
    ///
    /// Loading takes milliseconds, so only one of several calls that miss the library loads it.
    pub(crate) async fn load_library(&self) -> Result<(), Error> {
        let _one_at_a_time = self.home().loading.lock().await;
        let known: Result<u64, Error> = self.call(redis::cmd("FCALL_RO").arg(LIBRARY.function("idle")).arg(0)).await;
        match known {
            Err(Error::Redis(error)) if is_unknown_function(&error) => {}
            known => return known.map(drop),
        }
        let loaded: Result<String, Error> = self.call(redis::cmd("FUNCTION").arg("LOAD").arg(&LIBRARY.code)).await;
        match loaded {
            // Redis would load the library, but is busy.
            Err(error) if error.is_busy() => Err(error),
            // Another server loaded it first.
            Err(Error::Redis(error)) if error.to_string().contains("already exists") => Ok(()),
            Err(Error::Redis(error)) if !error.is_io_error() => {
                self.home().library_refusal.note(&error);
                Ok(())
            }
            loaded => loaded.map(|_| self.home().library_refusal.is_over()),
        }
    }

    /// Loads the functions that actors in other languages call. A newer version of them stays. If Redis refuses to load them, there are
    /// none.
    pub(crate) async fn load_public(&self) -> Result<(), Error> {
        let known: Result<String, Error> = self.call(redis::cmd("FCALL_RO").arg(format!("{PUBLIC_NAME}_version")).arg(0)).await;
        match known {
            Ok(version) if !PUBLIC_LIBRARY.replaces(&version) => return Ok(()),
            Err(error) if error.is_busy() => return Err(error),
            Err(Error::Redis(error)) if error.is_io_error() => return Err(error.into()),
            Err(Error::Deadline(deadline)) => return Err(Error::Deadline(deadline)),
            _ => {}
        }
        let loaded: Result<String, Error> = self.call(redis::cmd("FUNCTION").arg("LOAD").arg("REPLACE").arg(&PUBLIC_LIBRARY.code)).await;
        match loaded {
            Err(error) if error.is_busy() => Err(error),
            Err(Error::Redis(error)) if !error.is_io_error() => {
                self.home().library_refusal.note_public(&error);
                Ok(())
            }
            loaded => loaded.map(|_| self.home().library_refusal.is_over_for_public()),
        }
    }

    /// Returns a call of a function as a command for a pipeline; if Redis refuses the library, a script that does the same.
    pub(crate) fn function_command(&self, call: Cmd) -> Cmd {
        if !self.home().library_refusal.lasts() {
            return call;
        }
        let mut words = call.args_iter().filter_map(|arg| if let Arg::Simple(word) = arg { Some(word) } else { None }).skip(1);
        let function = words.next().unwrap_or_default();
        let mut eval = redis::cmd("EVAL");
        eval.arg(&LIBRARY.script_for(&String::from_utf8_lossy(function)).code);
        for word in words {
            eval.arg(word);
        }
        eval.arg(function);
        eval
    }

    /// Runs a function as a script.
    async fn as_script<T: FromRedisValue>(&self, call: &Cmd, sent: impl Fn()) -> Result<T, Error> {
        let mut words = call.args_iter().filter_map(|arg| if let Arg::Simple(word) = arg { Some(word) } else { None }).skip(1);
        let function = words.next().unwrap_or_default();
        let script = LIBRARY.script_for(&String::from_utf8_lossy(function));
        let mut eval = redis::cmd("EVALSHA");
        eval.arg(&script.sha);
        for word in words {
            eval.arg(word);
        }
        eval.arg(function);
        match first_sent(self.call(&eval), &sent).await {
            Err(Error::Redis(error)) if error.kind() == ErrorKind::Server(ServerErrorKind::NoScript) => {
                let _: String = self.call(redis::cmd("SCRIPT").arg("LOAD").arg(&script.code)).await?;
                first_sent(self.call(&eval), &sent).await
            }
            answer => answer,
        }
    }
}

pub(crate) fn is_unknown_function(error: &RedisError) -> bool {
    error.kind() == ErrorKind::Server(ServerErrorKind::ResponseError)
        && error.detail().is_some_and(|detail| detail.starts_with("Function not found"))
}

impl Maintenance<'_> {
    /// Deletes libraries of other versions that no server has called for ten minutes, and returns their number.
    ///
    /// A server that sleeps for longer finds its library gone and loads it again. If this user may not delete libraries, they stay.
    pub async fn tidy_libraries(self) -> Result<usize, Error> {
        match self.take_libraries_away().await {
            Err(Error::Redis(error)) if !error.is_io_error() => {
                tracing::debug!(%error, "functions of other versions cannot be taken away");
                Ok(0)
            }
            gone => gone,
        }
    }

    async fn take_libraries_away(self) -> Result<usize, Error> {
        let mut list = redis::cmd("FUNCTION");
        list.arg("LIST").arg("LIBRARYNAME").arg(format!("{}*", Library::PREFIX));
        let libraries: Vec<std::collections::HashMap<String, redis::Value>> = self.0.commands.call(&list).await?;
        let names = libraries.into_iter().filter_map(|mut library| String::from_redis_value(library.remove("library_name")?).ok());
        let mut gone = 0;
        for name in names.filter(|name| *name != LIBRARY.name) {
            let idle: Result<i64, Error> = self.0.commands.call(redis::cmd("FCALL_RO").arg(format!("{name}_idle")).arg(0)).await;
            if idle.is_ok_and(|idle| u128::try_from(idle).is_ok_and(|idle| idle >= ABANDONED_AFTER.as_millis())) {
                let _: () = self.0.commands.call(redis::cmd("FUNCTION").arg("DELETE").arg(&name)).await?;
                tracing::info!(library = %name, "took away the functions of a version that no server uses any more");
                gone += 1;
            }
        }
        Ok(gone)
    }

    /// Reloads the functions for actors in other languages if they are gone. They can get lost like hero's own.
    pub async fn keep_public_functions(self) -> Result<(), Error> {
        self.0.commands.load_public().await
    }
}

impl Inner {
    /// Begins a call of a function with the arguments that every function takes; its own arguments follow.
    pub(crate) fn call(&self, function: &Function) -> Cmd {
        self.call_at(function, self.clock.now())
    }

    /// Begins a call of a function in the database of another context.
    pub(crate) fn call_of(&self, function: &Function, context: ContextId) -> Cmd {
        let (now, settings) = (self.clock.now(), self.settings());
        let mut call = function.call(None);
        call.arg(server_argument(&Keys::standalone(context), &settings.server, &settings.periods));
        call.arg(self.clock.argument(now)).arg(now.to_string());
        call
    }

    /// Begins a call whose caller also tells others the time of the event.
    pub(crate) fn call_at(&self, function: &Function, now: Timestamp) -> Cmd {
        let mut call = function.call(self.signpost.as_deref());
        call.arg(&self.server_argument).arg(self.clock.argument(now)).arg(now.to_string());
        call
    }
}

/// Joins a list into one argument for a function. Functions do not parse a list again that came before. No entry is empty or has white
/// space.
pub(crate) fn list<T: ToString>(entries: impl IntoIterator<Item = T>) -> String {
    let entries: Vec<String> = entries.into_iter().map(|entry| entry.to_string()).collect();
    debug_assert!(entries.iter().all(|entry| !entry.is_empty() && !entry.contains(char::is_whitespace)), "{entries:?}");
    entries.join(" ")
}

/// Returns a word of a list, or its placeholder if the condition does not hold.
pub(crate) fn word_if(word: &'static str, holds: bool) -> &'static str {
    if holds { word } else { "-" }
}

/// Returns the argument that describes a server to functions, as `request.lua` reads it.
pub(crate) fn server_argument(keys: &Keys, server: &ServerId, periods: &Periods) -> String {
    let [finished, error, waited] = [periods.keep_finished, periods.keep_error, periods.keep_waited].map(whole_seconds);
    format!("{} {server} {finished} {error} {waited} {}", keys.context(), keys.prefix())
}

/// Converts a period to seconds for EXPIRE. At least one second, so that no key expires at once.
fn whole_seconds(period: Duration) -> u64 {
    (period.as_secs() + u64::from(period.subsec_nanos() > 0)).max(1)
}
