//! Options of the form `NAME=VALUE`.

use std::collections::BTreeSet;

use crate::exit::Usage;

/// Checks that names are not repeated, because one of two entries would be lost silently.
pub(in crate::cli) fn once<T>(option: &str, entries: Vec<(String, T)>) -> Result<Vec<(String, T)>, Usage> {
    let mut names = BTreeSet::new();
    match entries.iter().find(|(name, _)| !names.insert(name)) {
        Some((name, _)) => Err(Usage(format!("{option} {name} is given twice; give it once"))),
        None => Ok(entries),
    }
}

pub(in crate::cli) fn pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("a name, = and a value are expected".to_owned()),
    }
}
