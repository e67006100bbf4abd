//! The keys of this node and of the others.

use std::path::{Path, PathBuf};

use anyhow::anyhow;

use super::key_file::KeyFile;
use super::settings::{self, Settings};
use crate::coordinator::{Node, NodeKey};

/// The name of the key file in the data directory.
const NAME: &str = "node.key";

/// Returns the path of this node's key file.
pub(crate) fn key_path(settings: &Settings) -> PathBuf {
    settings.node_key_file.clone().unwrap_or_else(|| settings.data.join(NAME))
}

/// Describes the key file.
pub(crate) const fn key_file(path: &Path) -> KeyFile<'_> {
    KeyFile { path, setting: "node_key_file", of: "a node" }
}

/// Returns the key of this node. Makes one if there is none.
pub(crate) fn node_key(settings: &Settings) -> anyhow::Result<NodeKey> {
    key_file(&key_path(settings)).read_or_make(|| {
        let key = NodeKey::random();
        let text = key.to_text();
        (key, text)
    })
}

/// Returns the other nodes. Invalid settings were refused before.
pub(crate) fn nodes(settings: &Settings) -> anyhow::Result<Vec<Node>> {
    settings::nodes(settings).map_err(|(setting, why)| anyhow!("{setting}: {why}"))
}
