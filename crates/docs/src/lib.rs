#![doc = include_str!("../README.md")]
#![deny(unsafe_code)]

mod markdown;
mod search;
mod site;
mod source;

use std::collections::BTreeMap;
use std::sync::LazyLock;

/// What stands at a path of the site.
#[derive(Debug)]
pub struct File {
    /// Its media type.
    pub media_type: &'static str,
    /// Its text.
    pub text: String,
}

/// What the documents link to that is made elsewhere, and lies beside the pages: the description of the wire.
pub const OPENRPC: &str = "openrpc.json";

/// The page that lists all others.
pub const INDEX: &str = "index.html";

/// Every file of the site, by its path.
pub fn files() -> &'static BTreeMap<String, File> {
    static FILES: LazyLock<BTreeMap<String, File>> = LazyLock::new(site::files);
    &FILES
}

/// The page that says that there is none at this path, and which may be meant. Links of it lead from `root`.
pub fn missing(path: &str, root: &str) -> String {
    site::missing(path, root)
}

/// The documents of the site, by their paths in the repository.
pub fn documents() -> impl Iterator<Item = &'static str> {
    source::SECTIONS.iter().flat_map(|section| section.sources).map(|source| source.path)
}
