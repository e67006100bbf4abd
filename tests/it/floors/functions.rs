//! Each function in Redis has one caller: the file of its name.

use std::collections::BTreeSet;

use super::{code, rust_files};
use crate::support::{files_below, root};

/// Functions that the file of another one calls, too, because both do the same in different ways.
const SECOND: [(&str, &str); 2] = [("fetch_when_full", "fetch"), ("find_position", "find")];

#[test]
fn each_function_in_redis_is_called_by_the_file_of_its_name_alone() {
    let functions = files_below(&root().join("crates/store/src/lua/functions"));
    let mut uncalled: BTreeSet<&str> = functions.keys().filter_map(|file| file.strip_suffix(".lua")).collect();
    assert!(uncalled.len() > 60, "functions are not found any more: {uncalled:?}");
    let mut wrong = Vec::new();
    for (file, text) in rust_files("crates/store/src") {
        for (at, line) in code(&text) {
            for (name, _) in line.split("Function(\"").skip(1).filter_map(|rest| rest.split_once('"')) {
                uncalled.remove(name);
                let caller = SECOND.iter().find(|(second, _)| *second == name).map_or(name, |(_, first)| first);
                if file != format!("crates/store/src/functions/{caller}.rs") {
                    wrong.push(format!("{file}:{at} calls {name}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "only crates/store/src/functions/<name>.rs calls a function: {wrong:#?}");
    assert!(uncalled.is_empty(), "nobody calls {uncalled:?}");
}
