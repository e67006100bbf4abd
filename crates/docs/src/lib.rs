#![doc = include_str!("../README.md")]
#![deny(unsafe_code)]

mod markdown;
mod search;
mod site;
mod source;

use std::collections::BTreeMap;
use std::sync::LazyLock;

/// A file of the site.
#[derive(Debug)]
pub struct File {
    /// Its media type.
    pub media_type: &'static str,
    /// Its text.
    pub text: String,
}

/// The file that describes the API. The documents link to it; it is made elsewhere and placed beside the pages.
pub const OPENRPC: &str = "openrpc.json";

/// The page that lists all others.
pub const INDEX: &str = "index.html";

/// The media type of a picture.
pub const SVG: &str = "image/svg+xml";

/// Returns every file of the site, by its path.
pub fn files() -> &'static BTreeMap<String, File> {
    static FILES: LazyLock<BTreeMap<String, File>> = LazyLock::new(site::files);
    &FILES
}

/// Returns the page for a path without a file, with suggestions. Its links start from `root`.
pub fn missing(path: &str, root: &str) -> String {
    site::missing(path, root)
}

/// Returns the repository paths of the documents on the site.
pub fn documents() -> impl Iterator<Item = &'static str> {
    source::SECTIONS.iter().flat_map(|section| section.sources).map(|source| source.path)
}
