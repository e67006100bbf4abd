//! The views of the store stay small enough to read.

use std::collections::BTreeMap;

/// The maximum number of public methods of a view.
const MAX_METHODS: usize = 40;

/// The view whose methods follow a line, if it begins such a block.
fn begun(line: &str) -> Option<&str> {
    let view = line.strip_prefix("impl<'a> ").or_else(|| line.strip_prefix("impl "))?;
    view.strip_suffix("<'_> {").or_else(|| view.strip_suffix("<'a> {"))
}

#[test]
fn no_view_of_the_store_has_too_many_methods() {
    let files = super::rust_files("crates/store/src");
    let names = files["crates/store/src/views.rs"].lines().filter_map(|line| line.strip_prefix("pub struct ")?.split('<').next());
    let mut methods: BTreeMap<&str, usize> = names.map(|view| (view, 0)).collect();
    assert!(methods.len() > 10, "views are not found any more: {methods:?}");
    for text in files.values() {
        let mut view = None;
        for line in text.lines() {
            if !line.starts_with([' ', '/']) && !line.is_empty() {
                view = begun(line);
            } else if line.starts_with("    pub fn ") || line.starts_with("    pub async fn ") {
                view.and_then(|view| methods.get_mut(view)).into_iter().for_each(|many| *many += 1);
            }
        }
    }
    assert!(methods.values().all(|many| *many > 0), "methods are not found any more: {methods:?}");
    assert!(methods.values().all(|many| *many <= MAX_METHODS), "a view has more than {MAX_METHODS} methods: {methods:?}");
}
