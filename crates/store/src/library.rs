//! The library of Redis Functions: every transition of a job, and the code that the functions share.
//!
//! `src/lua` has one file for each subject and, below `functions`, one for each function. They are joined into one text in the order below.
//! Each file is wrapped in a function, so that other files see only what it returns. The library is named after its contents: servers of
//! two versions have a library each in the same Redis, and neither deletes the other's.

pub(crate) mod acl;
pub(crate) mod fcall;
pub(crate) mod refusal;

use std::sync::LazyLock;

use sha2::{Digest, Sha256};

use hero_model::hex;

/// Files of Lua by their names.
type Files = &'static [(&'static str, &'static str)];

macro_rules! files {
    ($folder:literal, $($name:literal)*) => {
        &[$(($name, include_str!(concat!($folder, $name, ".lua")))),*]
    };
}

/// The shared modules, each after the modules that it uses.
const MODULES: Files = files!("lua/",
    "commands" "values" "keys" "time" "request" "leases" "field_counts" "jobs" "attempts" "news" "coordinator" "flows" "layouts" "ends" "queues" "routing" "relations" "links" "cycles" "index"
    "filter" "foreign" "awaited" "keyed" "schedules" "conveyor" "relatives" "fair" "incoming" "limit" "masks" "objects" "access" "calling" "once" "envelopes" "messages" "message_jobs" "unsent" "clock_step"
);

/// The most used globals, as locals: a function of a library looks up every other global in two tables.
const GLOBALS: &str = "local redis, string, math, table, next, pairs, ipairs, type, tonumber, unpack = \
                       redis, string, math, table, next, pairs, ipairs, type, tonumber, unpack\n";

/// The functions that servers call.
const FUNCTIONS: Files = files!("lua/functions/",
    "acknowledge_message" "admit_identities" "advance_flow" "announce_change" "bury_context" "claim_post" "clean_status_index" "close_context" "close_conveyor"
    "commit_jobs" "complete_message" "control" "create" "create_flow" "create_token" "current_state" "declare_indexes" "delete" "delete_identity" "delete_message"
    "delete_object" "delete_runner" "discover" "drop_collection" "drop_index" "evict" "fill_index" "find" "find_failed" "find_keyed"
    "find_open" "find_position" "forget_context" "forget_keys" "found_context" "grant" "hold_dependents" "import_conveyor" "import_queues" "link_jobs" "list_leases" "log_in"
    "make_runner_jobs" "new_context" "note_access" "note_context" "note_displaced" "note_keys" "note_login" "note_message" "note_native_only"
    "note_progress" "number_job" "pause" "pending" "promote" "promote_conveyor" "prune" "purge" "read_conveyor_end" "read_lines" "read_objects" "read_relations" "reap"
    "receive_message" "receive_result" "receive_stop" "recover" "release_post" "release_relatives" "renew" "retry" "revoke_token" "runners_with_jobs" "schedule"
    "send_jobs" "send_message" "set_context" "set_identity" "set_object" "set_runner" "settle_message" "settle_stop" "skip_missed" "start"
    "stop" "store_flow_jobs" "summary" "sweep_conveyor" "take_spoilt" "tend_messages" "fetch" "fetch_when_full"
    "unschedule" "unstage_jobs" "wait"
);

/// The functions that actors in any language call.
const PUBLIC: Files = files!("lua/public/", "claim" "renew" "finish" "fail" "release" "log" "progress" "present");

/// The name of the library with these functions, and the prefix of their names.
pub(super) const PUBLIC_NAME: &str = "hero";

/// The code that executes the calls of actors in any language.
const PUBLIC_CALLS: &str = include_str!("lua/public.lua");

/// The placeholder for the name of the library in its text.
const NAME: &str = "LIBRARY_NAME";

/// The code that executes the calls; it follows after all functions.
const REGISTRATION: &str = include_str!("lua/registration.lua");

/// The flags of a function, from the first line of its file. While the memory of Redis is full, Redis refuses a function without flags as a
/// whole, before its first write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Flags {
    /// It writes and needs memory.
    None,
    /// It must work while memory is full: it records, renews, releases, frees, or takes very little.
    AllowOom,
    /// It only reads, and Redis never refuses it for lack of memory or disk.
    NoWrites,
}

impl Flags {
    const ALL: [Self; 3] = [Self::None, Self::AllowOom, Self::NoWrites];

    fn of(code: &str) -> Self {
        let line = code.lines().next().unwrap_or_default();
        match line.strip_prefix("-- Flags:").map(str::trim) {
            Some("") => Self::None,
            Some("allow-oom") => Self::AllowOom,
            Some("no-writes") => Self::NoWrites,
            _ => unreachable!("a file of a function begins with its flags, not with {line:?}"),
        }
    }

    fn word(self) -> Option<&'static str> {
        match self {
            Self::None => None,
            Self::AllowOom => Some("allow-oom"),
            Self::NoWrites => Some("no-writes"),
        }
    }
}

/// The library of this version.
pub(super) struct Library {
    /// Its name, which begins with [`Library::PREFIX`].
    pub(super) name: String,
    /// Its text for FUNCTION LOAD.
    pub(super) code: String,
    /// The same as scripts, one for each kind of flags.
    scripts: [Script; 3],
}

/// The library as a script. It does the same, but builds all functions again for each call.
pub(super) struct Script {
    pub(super) code: String,
    pub(super) sha: String,
}

/// The library of this version.
pub(super) static LIBRARY: LazyLock<Library> = LazyLock::new(|| Library::of(FUNCTIONS));

impl Library {
    /// The prefix of the names of all libraries of hero.
    pub(super) const PREFIX: &str = "hero_";

    fn of(functions: Files) -> Self {
        let body = body(functions);
        let name = format!("{}{}", Self::PREFIX, &hex(&Sha256::digest(&body))[..12]);
        let body = body.replace(NAME, &name);
        let scripts = Flags::ALL.map(|flags| Script::new(&body, flags));
        Self { code: format!("#!lua name={name}\n{body}"), name, scripts }
    }

    /// Returns the full name of one of its functions.
    pub(super) fn function(&self, function: &str) -> String {
        format!("{}_{function}", self.name)
    }

    /// Returns the script with the flags of this function.
    pub(super) fn script_for(&self, function: &str) -> &Script {
        let own = function.strip_prefix(&self.name).and_then(|rest| rest.strip_prefix('_'));
        let flags = own.and_then(|own| FUNCTIONS.iter().find(|(name, _)| *name == own)).map_or(Flags::None, |(_, code)| Flags::of(code));
        &self.scripts[flags as usize]
    }
}

/// The public library of this version: the same functions, under names that stay.
pub(super) static PUBLIC_LIBRARY: LazyLock<Public> = LazyLock::new(Public::new);

/// The functions that actors in any language call.
pub(super) struct Public {
    /// Its version: that of the program, and a digest that tells builds apart.
    pub(super) version: String,
    /// Its text for FUNCTION LOAD.
    pub(super) code: String,
}

impl Public {
    fn new() -> Self {
        // The public functions get inner names, so that a public `renew` can call hero's own.
        let used: Vec<(String, &str)> = FUNCTIONS
            .iter()
            .filter(|(name, _)| matches!(*name, "fetch" | "renew"))
            .map(|(name, code)| ((*name).to_owned(), *code))
            .chain(PUBLIC.iter().map(|(name, code)| (format!("public_{name}"), *code)))
            .collect();
        let made = made(used.iter().map(|(name, code)| (name.as_str(), *code)));
        let registered: String = PUBLIC
            .iter()
            .map(|(name, code)| {
                let callback = format!("function(given, argv) return carry_out('public_{name}', given, argv) end");
                registration(&format!("{PUBLIC_NAME}_{name}"), Flags::of(code), &callback)
            })
            .collect();
        let body = [&*made, PUBLIC_CALLS, &*registered].concat();
        let version = format!("{} {}", env!("CARGO_PKG_VERSION"), &hex(&Sha256::digest(&body))[..12]);
        let says = registration(&format!("{PUBLIC_NAME}_version"), Flags::NoWrites, &format!("function() return '{version}' end"));
        Self { code: format!("#!lua name={PUBLIC_NAME}\n{body}{says}"), version }
    }

    /// Whether this version replaces the one in Redis: that one is older. Of two builds of one version the one with the greater digest
    /// stays, so that they do not replace each other again and again.
    pub(super) fn replaces(&self, version: &str) -> bool {
        fn parts(version: &str) -> (Vec<u64>, &str) {
            let (number, digest) = version.split_once(' ').unwrap_or((version, ""));
            (number.split('.').map(|part| part.parse().unwrap_or(0)).collect(), digest)
        }
        parts(version) < parts(&self.version)
    }
}

impl Script {
    fn new(body: &str, flags: Flags) -> Self {
        let flags = flags.word().map_or_else(String::new, |word| format!(" flags={word}"));
        let code = format!(
            "#!lua{flags}\nlocal registered = {{}}\n\
             local redis = setmetatable({{ register_function = function(given) registered[given.function_name] = given.callback end }}, \
             {{ __index = redis }})\n{body}return registered[table.remove(ARGV)](KEYS, ARGV)\n"
        );
        let sha = redis::Script::new(&code).get_hash().to_owned();
        Self { code, sha }
    }
}

/// Returns a script of the shared modules and some Lua after them, for tests of the modules. Its ARGV begin with the arguments of every
/// function.
#[doc(hidden)]
pub fn script_behind_the_modules(code: &str) -> String {
    format!("{}local refusal = request.enter(KEYS, ARGV)\nif refusal then return refusal end\n{code}", modules())
}

/// Returns the shared modules in order, each file with the name under which others know it.
fn modules() -> String {
    let modules = MODULES.iter().map(|(name, code)| format!("local {name} = (function()\n{code}end)()\n"));
    [GLOBALS.to_owned()].into_iter().chain(modules).collect()
}

/// Returns the whole text: the modules, the functions, and their registration.
fn body(functions: Files) -> String {
    let registered = functions.iter().map(|(name, code)| {
        let callback = format!("function(given, argv) return carry_out('{name}', given, argv) end");
        registration(&format!("{NAME}_{name}"), Flags::of(code), &callback)
    });
    let registered: String = registered.chain([registration(&format!("{NAME}_idle"), Flags::NoWrites, "idle")]).collect();
    [&*made(functions.iter().copied()), REGISTRATION, &*registered].concat()
}

/// Returns the code that builds the modules and the functions.
fn made<'a>(functions: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    let functions: String = functions.map(|(name, code)| format!("functions.{name} = (function()\n{code}end)()\n")).collect();
    let shared = modules();
    format!(
        "local function made_library()\nlocal functions = {{}}\n{shared}{functions}\
         return {{ request = request, calling = calling, functions = functions }}\nend\n"
    )
}

fn registration(name: &str, flags: Flags, callback: &str) -> String {
    let flags = flags.word().map_or_else(String::new, |word| format!("'{word}'"));
    format!("redis.register_function({{ function_name = '{name}', flags = {{ {flags} }}, callback = {callback} }})\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_library_is_named_after_its_contents() {
        let (whole, part) = (Library::of(FUNCTIONS), Library::of(&FUNCTIONS[..1]));
        assert_eq!(whole.name, LIBRARY.name);
        assert_ne!(whole.name, part.name);
        assert!(whole.code.starts_with(&format!("#!lua name={}\n", whole.name)) && !whole.code.contains(NAME));
    }

    #[test]
    fn public_functions_of_an_older_version_give_way_and_those_of_a_newer_one_stay() {
        let own = &PUBLIC_LIBRARY.version;
        assert!(PUBLIC_LIBRARY.replaces("0.0.9 abc") && PUBLIC_LIBRARY.replaces("") && PUBLIC_LIBRARY.replaces("x"));
        assert!(!PUBLIC_LIBRARY.replaces(own) && !PUBLIC_LIBRARY.replaces("99.0.0 abc"));
    }

    #[test]
    fn of_two_builds_of_one_version_one_replaces_the_other_and_not_the_other_way_round() {
        let version = |digest: &str| format!("{} {digest}", env!("CARGO_PKG_VERSION"));
        for digest in ["000000000000", "7fffffffffff", "ffffffffffff"] {
            let other = Public { version: version(digest), code: String::new() };
            assert_ne!(PUBLIC_LIBRARY.replaces(&other.version), other.replaces(&PUBLIC_LIBRARY.version), "{digest}");
        }
    }

    #[test]
    fn every_function_says_what_it_may_do_what_it_is_given_and_what_it_gives() {
        for (name, code) in FUNCTIONS.iter().chain(PUBLIC) {
            let head: Vec<&str> = code.lines().take_while(|line| line.starts_with("--")).collect();
            let says = |word: &str| head.iter().any(|line| line.starts_with(word));
            Flags::of(code);
            let is_another = *name == "fetch_when_full";
            assert!(is_another || says("-- ARGV"), "{name} does not say what it is given");
            assert!(is_another || says("-- Gives"), "{name} does not say what it gives");
        }
    }

    #[test]
    fn no_line_is_longer_than_140_characters() {
        for (name, code) in MODULES.iter().chain(FUNCTIONS).chain(PUBLIC) {
            let long = code.lines().find(|line| line.chars().count() > 140);
            assert_eq!(long, None, "{name}.lua");
        }
    }
}
