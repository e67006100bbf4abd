//! The key of this node, and those of the others.

use std::path::{Path, PathBuf};

use anyhow::anyhow;

use super::key_file::KeyFile;
use super::settings::{self, Settings};
use crate::coordinator::{Node, NodeKey};

/// The name of the file with the node's key in the data directory.
const NAME: &str = "node.key";

/// Where the key of this node is.
pub(crate) fn key_path(settings: &Settings) -> PathBuf {
    settings.node_key_file.clone().unwrap_or_else(|| settings.data.join(NAME))
}

/// The file with it.
pub(crate) const fn key_file(path: &Path) -> KeyFile<'_> {
    KeyFile { path, setting: "node_key_file", of: "a node" }
}

/// The key of this node.
pub(crate) fn node_key(settings: &Settings) -> anyhow::Result<NodeKey> {
    key_file(&key_path(settings)).read_or_make(|| {
        let key = NodeKey::random();
        let text = key.to_text();
        (key, text)
    })
}

/// The other nodes. The settings were refused if they could not be read.
pub(crate) fn nodes(settings: &Settings) -> anyhow::Result<Vec<Node>> {
    settings::nodes(settings).map_err(|(setting, why)| anyhow!("{setting}: {why}"))
}
