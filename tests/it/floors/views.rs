//! The views of the store and of the dispatcher stay small enough to read, and so does the dispatcher itself.

use std::collections::BTreeMap;

/// The crates whose methods are in views, and the files that list the views.
const VIEWS: [(&str, &str); 2] =
    [("crates/store/src", "crates/store/src/views.rs"), ("crates/jobs/src", "crates/jobs/src/dispatch/views.rs")];
/// The maximum number of public methods of a view.
const MAX_METHODS: usize = 40;
/// The maximum number of public methods of the dispatcher itself.
const MAX_OF_DISPATCHER: usize = 20;

/// The type whose methods follow a line, if it begins such a block.
fn begun(line: &str) -> Option<&str> {
    let name = line.strip_prefix("impl<'a> ").or_else(|| line.strip_prefix("impl "))?.strip_suffix(" {")?;
    Some(name.strip_suffix("<'_>").or_else(|| name.strip_suffix("<'a>")).unwrap_or(name))
}

/// Whether a line begins a public method.
fn is_public(line: &str) -> bool {
    ["    pub fn ", "    pub const fn ", "    pub async fn "].iter().any(|start| line.starts_with(start))
}

/// The number of public methods of each of these types.
fn methods<'a>(names: impl IntoIterator<Item = &'a str>, files: &BTreeMap<String, String>) -> BTreeMap<&'a str, usize> {
    let mut methods: BTreeMap<&str, usize> = names.into_iter().map(|name| (name, 0)).collect();
    for text in files.values() {
        let mut name = None;
        for line in text.lines() {
            if !line.starts_with([' ', '/']) && !line.is_empty() {
                name = begun(line);
            } else if is_public(line) {
                name.and_then(|name| methods.get_mut(name)).into_iter().for_each(|many| *many += 1);
            }
        }
    }
    assert!(methods.values().all(|many| *many > 0), "methods are not found any more: {methods:?}");
    methods
}

#[test]
fn no_view_has_too_many_methods() {
    for (folder, list) in VIEWS {
        let files = super::rust_files(folder);
        let names: Vec<&str> = files[list].lines().filter_map(|line| line.strip_prefix("pub struct ")?.split('<').next()).collect();
        assert!(names.len() > 5, "views are not found any more: {names:?}");
        let methods = methods(names, &files);
        assert!(methods.values().all(|many| *many <= MAX_METHODS), "a view has more than {MAX_METHODS} methods: {methods:?}");
    }
}

#[test]
fn the_dispatcher_itself_has_few_methods() {
    let methods = methods(["Dispatcher"], &super::rust_files("crates/jobs/src"));
    assert!(methods["Dispatcher"] <= MAX_OF_DISPATCHER, "move some into a view: {methods:?}");
}
