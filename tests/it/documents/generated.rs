//! Tables that are made from what the program knows. `UPDATE=1` writes them.

use super::*;

/// Compares what stands in a document between two marks with what the program gives.
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
    agrees("docs/settings.md", "settings", &hero::cli::settings::markdown());
}

#[test]
fn the_permissions_in_the_documents_are_those_of_the_program() {
    let (document, fresh) = ("docs/permissions.md", hero::rpc::permissions());
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(root().join(document), &fresh).unwrap();
    }
    assert_eq!(read(document), fresh, "{document} is stale: run `UPDATE=1 cargo test --test it documents::generated`");
}

#[test]
fn the_rules_of_redis_in_the_documents_are_those_of_the_program() {
    let line = format!("```\nACL SETUSER hero on >PASSWORD {}\n```\n", hero::store::acl_rules(true));
    agrees("docs/operations.md", "acl", &line);
}

#[test]
fn the_metrics_in_the_documents_are_those_of_the_program() {
    agrees("docs/operations.md", "metrics", &hero::cli::metric_families::markdown());
}

#[test]
fn every_metric_that_the_source_counts_is_explained() {
    let table = hero::cli::metric_families::markdown();
    let mut directories = vec![root().join("src")];
    while let Some(directory) = directories.pop() {
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                directories.push(path);
                continue;
            }
            let text = std::fs::read_to_string(&path).unwrap();
            let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
            let counts = ["counter!(", "gauge!(", "histogram!(", "const CONNECTIONS: &str = "];
            for rest in counts.iter().flat_map(|call| code.split(call).skip(1)) {
                let Some(name) = rest.trim_start().strip_prefix('"').and_then(|name| name.split('"').next()) else { continue };
                assert!(table.contains(&format!("| `{name}` |")), "{name} in {} is not in src/cli/metric_families.rs", path.display());
            }
        }
    }
}

#[test]
fn every_key_of_the_program_is_documented() {
    let (source, documents) = (read("src/keys.rs"), [read("docs/protocol.md"), read("docs/layouts.md")].concat());
    let keys = source.lines().filter_map(|line| line.strip_prefix("//! | `")?.split(" | ").next());
    let words: Vec<&str> = keys.flat_map(|cell| cell.split('`').step_by(2)).collect();
    assert!(words.len() > 40, "the table is not read right: {words:?}");
    // What follows a name that is written out begins with a colon.
    for word in words.into_iter().filter(|word| !word.is_empty() && !word.starts_with(':')) {
        let name = word.split(['[', '{']).next().unwrap();
        assert!(documents.contains(&format!("`{name}")), "{word} is neither in docs/protocol.md nor in docs/layouts.md");
    }
}

#[test]
fn the_functions_in_the_documents_are_those_of_the_program() {
    agrees("docs/functions.md", "functions", &hero::engine::reference::markdown());
}
