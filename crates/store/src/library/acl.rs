//! The permissions that a user of Redis needs to serve hero: exactly the commands that a server or its functions send.

use crate::library::{LIBRARY, PUBLIC_LIBRARY};

/// The commands that serving takes: those of functions, and those sent without a function. Redis checks the commands of a function against
/// the rights of its caller.
const SERVING: &[&str] = &[
    "blmove",
    "cluster|keyslot",
    "cluster|slots",
    "command|info",
    "dbsize",
    "del",
    "eval",
    "exists",
    "expire",
    "fcall",
    "fcall_ro",
    "get",
    "getrange",
    "hdel",
    "hexists",
    "hget",
    "hgetall",
    "hincrby",
    "hkeys",
    "hlen",
    "hmget",
    "hscan",
    "hset",
    "hsetnx",
    "hstrlen",
    "incr",
    "incrby",
    "info",
    "lindex",
    "llen",
    "lmove",
    "lpop",
    "lpos",
    "lpush",
    "lrange",
    "lrem",
    "ltrim",
    "memory|usage",
    "persist",
    "ping",
    "publish",
    "rename",
    "rpop",
    "rpush",
    "sadd",
    "scan",
    "scard",
    "select",
    "set",
    "sismember",
    "smembers",
    "smismember",
    "srem",
    "sscan",
    "strlen",
    "subscribe",
    "time",
    "ttl",
    "type",
    "unlink",
    "xadd",
    "xrange",
    "xread",
    "xrevrange",
    "zadd",
    "zcard",
    "zcount",
    "zmscore",
    "zrange",
    "zrangebylex",
    "zrangebyscore",
    "zrem",
    "zremrangebyscore",
    "zrevrange",
    "zrevrangebylex",
    "zscan",
    "zscore",
];

/// The commands that load the functions, delete those of other versions, and replace functions by scripts where Redis is too full to load
/// any.
const LOADING: &[&str] = &["evalsha", "function|delete", "function|list", "function|load", "script|load"];

/// The rules of a user of Redis who may only serve hero, for use after `ACL SETUSER name`: all keys, hero's channels, these commands.
///
/// A user who may not load functions needs somebody else to load those of this very version.
pub fn acl_rules(may_load: bool) -> String {
    let loading = if may_load { LOADING } else { &[] };
    let mut commands: Vec<&str> = SERVING.iter().chain(loading).copied().collect();
    commands.sort_unstable();
    commands.iter().fold("resetkeys resetchannels ~* &hero:* -@all".to_owned(), |rules, command| format!("{rules} +{command}"))
}

/// The functions that servers of this version call, as `FUNCTION LOAD` takes them.
pub fn own_functions() -> &'static str {
    &LIBRARY.code
}

/// The functions that actors in other languages call, as `FUNCTION LOAD REPLACE` takes them.
pub fn public_functions() -> &'static str {
    &PUBLIC_LIBRARY.code
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use regex::Regex;

    use super::*;

    /// Files whose commands go to another Redis than that of a server, or come from other programs.
    const ELSEWHERE: [&str; 5] = ["acl.rs", "granted.rs", "profile.rs", "rhailib.rs", "managed"];

    /// The commands in the code of the store, with their subcommands.
    fn of_files(directory: &Path, found: &mut BTreeSet<String>) {
        let command = Regex::new(r#"cmd\("([A-Z_]+)"\)(?:\s*\.arg\("([A-Z]+)"\))?"#).unwrap();
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if ELSEWHERE.iter().any(|name| path.file_name().is_some_and(|file| file == *name)) {
                continue;
            }
            if path.is_dir() {
                of_files(&path, found);
            } else if path.extension().is_some_and(|kind| kind == "rs") {
                let text = std::fs::read_to_string(&path).unwrap();
                found.extend(command.captures_iter(&text).map(|one| named(&one[1], one.get(2).map(|sub| sub.as_str()))));
            }
        }
    }

    /// A command as ACL names it.
    fn named(command: &str, sub: Option<&str>) -> String {
        let command = command.to_lowercase();
        let has_subcommands = ["cluster", "command", "config", "function", "memory", "script"].contains(&&*command);
        match sub.filter(|_| has_subcommands) {
            Some(sub) => format!("{command}|{}", sub.to_lowercase()),
            // Its subcommand is added in another line.
            None if command == "function" => "function|list".to_owned(),
            None if command == "memory" => "memory|usage".to_owned(),
            None => command,
        }
    }

    #[test]
    fn the_rules_allow_what_is_sent_and_nothing_else() {
        let mut sent = BTreeSet::new();
        of_files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut sent);
        let call = Regex::new(r"\b(?:call|pcall|try|try_named|insist)\(([^,)]*)").unwrap();
        let word = Regex::new("'([A-Z]{3,})'").unwrap();
        for code in [own_functions(), public_functions()] {
            let first = call.captures_iter(code).map(|call| call[1].to_owned()).collect::<Vec<_>>().join(" ");
            sent.extend(word.captures_iter(&first).map(|word| named(&word[1], None)));
        }
        // The commands that the client sends itself for a database and for channels, and optional ones that may be refused.
        sent.extend(["select", "subscribe"].map(str::to_owned));
        assert!(sent.remove("config|get"));
        let allowed: BTreeSet<String> = SERVING.iter().chain(LOADING).map(|command| (*command).to_owned()).collect();
        let missing: Vec<_> = sent.difference(&allowed).collect();
        let needless: Vec<_> = allowed.difference(&sent).collect();
        assert!(missing.is_empty() && needless.is_empty(), "missing: {missing:?}; of no use: {needless:?}");
    }
}
