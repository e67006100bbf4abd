//! Tables that are generated from the program. `UPDATE=1` writes them.

use hero::process::confine::{Call, Kind, calls};

use super::*;

/// Compares the part of a document between two marks with the output of the program.
fn agrees(document: &str, mark: &str, fresh: &str) {
    let text = read(document);
    let (begin, end) = (format!("<!-- {mark} -->\n"), format!("<!-- /{mark} -->"));
    let (before, rest) = text.split_once(&begin).unwrap();
    let (table, after) = rest.split_once(&end).unwrap();
    if table != fresh && std::env::var_os("UPDATE").is_some() {
        std::fs::write(root().join(document), format!("{before}{begin}{fresh}{end}{after}")).unwrap();
        return;
    }
    assert_eq!(table, fresh, "the table in {document} is stale: run `UPDATE=1 cargo test --test it documents::generated`");
}

#[test]
fn the_settings_in_the_documents_are_those_of_the_program() {
    agrees("docs/settings.md", "settings", &hero::server::settings::markdown());
}

/// Compares a whole file with what the program gives.
fn is(file: &str, fresh: &str) {
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(root().join(file), fresh).unwrap();
    }
    assert_eq!(read(file), fresh, "{file} is stale: run `UPDATE=1 cargo test --test it documents::generated`");
}

#[test]
fn the_permissions_in_the_documents_are_those_of_the_program() {
    is("docs/permissions.md", &hero::rpc::permissions());
}

/// Clients know without a server which calls they may send again.
#[test]
fn the_methods_that_clients_know_are_those_of_the_document() {
    let file = "crates/model/src/api/repeatable.rs";
    let document: serde_json::Value = serde_json::from_str(hero::rpc::document()).unwrap();
    let methods = document["methods"].as_array().unwrap().iter().map(|method| (&method["name"], method["x-repeatable"].as_str().unwrap()));
    let begun = methods.filter(|(name, _)| !name.as_str().unwrap().starts_with("unsubscribe_"));
    let rows = begun.map(|(name, word)| {
        let all = [("always", "Always"), ("with_key", "WithKey"), ("never", "Never")];
        let (_, repeatable) = all.iter().find(|(known, _)| *known == word).unwrap();
        format!("    ({name}, {repeatable}),\n")
    });
    let text = read(file);
    let (head, rest) = text.split_once("= &[\n").unwrap();
    let (_, tail) = rest.split_once("];\n").unwrap();
    is(file, &format!("{head}= &[\n{}];\n{tail}", rows.collect::<String>()));
}

#[test]
fn what_may_be_sent_again_stands_in_the_documents() {
    agrees("docs/json-rpc.md", "repeatable", &hero::rpc::repeatable());
}

#[test]
fn the_rules_of_redis_in_the_documents_are_those_of_the_program() {
    let line = format!("```\nACL SETUSER hero on >PASSWORD {}\n```\n", hero::store::acl_rules(true));
    agrees("docs/settings.md", "acl", &line);
}

#[test]
fn the_metrics_in_the_documents_are_those_of_the_program() {
    agrees("docs/metrics.md", "metrics", &hero::server::metric_families::markdown());
}

#[test]
fn every_metric_that_the_source_counts_is_explained() {
    let table = hero::server::metric_families::markdown();
    for (file, text) in sources(&["src", "crates"]).into_iter().filter(|(file, _)| file.ends_with(".rs")) {
        let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
        let counts = ["counter!(", "gauge!(", "histogram!(", "const CONNECTIONS: &str = "];
        for rest in counts.iter().flat_map(|call| code.split(call).skip(1)) {
            let Some(name) = rest.trim_start().strip_prefix('"').and_then(|name| name.split('"').next()) else { continue };
            assert!(table.contains(&format!("| `{name}` |")), "{name} in {file} is not in src/server/metric_families.rs");
        }
    }
}

#[test]
fn every_key_of_the_program_is_documented() {
    let (source, documents) = (read("crates/store/src/keys.md"), [read("docs/protocol.md"), read("docs/layouts.md")].concat());
    let keys = source.lines().filter_map(|line| line.strip_prefix("| `")?.split(" | ").next());
    let keys: Vec<&str> = keys.map(|cell| cell.trim_end_matches('`')).collect();
    assert!(keys.len() > 100, "the table is not read right: {keys:?}");
    let has = |name: &str| documents.contains(&format!("`{name}"));
    for key in keys {
        let name = key.split(['[', '{']).next().unwrap();
        // The documents name some keys by their last parts, behind the key that begins like them.
        let has_parts = || name.match_indices(':').any(|(at, _)| has(&name[..at]) && at + 1 < name.len() && has(&name[at..]));
        assert!(has(name) || has_parts(), "{key} is neither in docs/protocol.md nor in docs/layouts.md");
    }
}

#[test]
fn the_functions_in_the_documents_are_those_of_the_program() {
    agrees("docs/functions.md", "functions", &hero::engine::reference::markdown());
}

/// The names of calls, including those that a pattern such as `io_uring_*` matches.
fn named(pattern: &str) -> Vec<Call> {
    let (before, after) = pattern.split_once('*').unwrap_or((pattern, ""));
    let is_it = |name: &str| if pattern.contains('*') { name.starts_with(before) && name.ends_with(after) } else { name == pattern };
    let found: Vec<Call> = calls().filter(|call| is_it(call.name)).collect();
    assert!(!found.is_empty(), "no system call is named {pattern}");
    found
}

#[test]
fn the_system_calls_in_the_documents_are_those_of_the_program() {
    let of = |which: &dyn Fn(&Call) -> bool| {
        let mut names: Vec<&str> = calls().filter(|call| which(call)).map(|call| call.name).collect();
        names.sort_unstable();
        names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
    };
    let rows = [
        ("an engine of Rhai may make", of(&|call| call.is_for(Kind::Engine))),
        ("a job or a command may, besides", of(&|call| call.is_for(Kind::Job) && !call.is_for(Kind::Engine))),
        ("the Python that forks for jobs may, besides", of(&|call| call.is_for(Kind::Zygote) && !call.is_for(Kind::Job))),
        ("the private Redis may, beside what a job may", of(&|call| call.is_for(Kind::Redis) && !call.is_for(Kind::Job))),
        ("nobody may (not permitted)", of(&|call| !Kind::ALL.iter().any(|kind| call.is_for(*kind)) && !call.is_young())),
        ("nobody may (not implemented)", of(&|call| !Kind::ALL.iter().any(|kind| call.is_for(*kind)) && call.is_young())),
    ];
    let table: String = rows.iter().map(|(who, calls)| format!("| {who} | {calls} |\n")).collect();
    if std::env::consts::ARCH == "x86_64" {
        agrees("docs/confinement.md", "calls", &format!("| who | system calls |\n| --- | --- |\n{table}"));
    }
}

#[test]
fn what_the_documents_say_of_calls_that_take_something_is_what_the_program_does() {
    let text = read("docs/confinement.md");
    let (_, rest) = text.split_once("<!-- taken -->\n").unwrap();
    let rows: Vec<&str> = rest.split_once("<!-- /taken -->").unwrap().0.lines().skip(2).collect();
    assert!(rows.len() > 20, "{rows:?}");
    for row in rows {
        let [names, what] = row.trim_start_matches("| ").splitn(3, " | ").take(2).collect::<Vec<_>>()[..] else { panic!("{row}") };
        // Words in capitals are arguments.
        let patterns = names.split('`').skip(1).step_by(2).filter(|name| name.chars().all(|c| !c.is_ascii_uppercase()));
        for call in patterns.flat_map(named) {
            // The kernel would do it, so a filter says that it cannot.
            let is_refused = !call.is_for(Kind::Job) || ["fallocate", "sendfile", "splice", "tee"].contains(&call.name);
            assert_eq!(is_refused, what.starts_with("refused"), "{}: {row}", call.name);
            assert!(is_refused || what.starts_with("limited") || what.starts_with("counted"), "{row}");
        }
    }
}
