//! The supervisor daemon of a server, as the settings say.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::anyhow;
use tokio_util::sync::CancellationToken;

use super::backend::Backend;
use super::key_file::KeyFile;
use super::settings::{self, MyceliumApi, Settings};
use crate::coordinator::bus::{Api, Mycelium};
use crate::coordinator::{KEPT, Node, NodeKey, Supervisor, SupervisorSettings, Wakes};

/// The name of the file with the node's key in the data directory.
const NAME: &str = "node.key";

/// Where the key of this node is.
pub(super) fn key_path(settings: &Settings) -> PathBuf {
    settings.node_key_file.clone().unwrap_or_else(|| settings.data.join(NAME))
}

/// The file with it.
pub(super) const fn key_file(path: &Path) -> KeyFile<'_> {
    KeyFile { path, setting: "node_key_file", of: "a node" }
}

/// The key of this node.
pub(super) fn node_key(settings: &Settings) -> anyhow::Result<NodeKey> {
    key_file(&key_path(settings)).read_or_make(|| {
        let key = NodeKey::random();
        let text = key.to_text();
        (key, text)
    })
}

/// Starts the loops that bring messages on, for each context that is served.
pub(super) fn start(
    settings: &Settings,
    backend: &Backend,
    key: NodeKey,
    wakes: Wakes,
    shutdown: &CancellationToken,
) -> anyhow::Result<Arc<Supervisor>> {
    let mycelium = settings.mycelium_url.as_deref().map(|url| {
        let api = if settings.mycelium_api == MyceliumApi::Rest { Api::Rest } else { Api::JsonRpc };
        Mycelium::new(url, api, &settings.mycelium_topic).map_err(|error| anyhow!("mycelium_url: {error}"))
    });
    let of_supervisor = SupervisorSettings {
        key,
        nodes: nodes(settings)?,
        mycelium: mycelium.transpose()?,
        authority: settings.login.then(|| backend.authority.clone()),
        ack: settings.remote_ack,
        result: settings.remote_result,
        kept: KEPT,
    };
    let supervisor = Arc::new(Supervisor::start(backend.dispatcher.clone(), of_supervisor, wakes, shutdown.clone()));
    backend.hosting.bring_messages_with(&supervisor);
    Ok(supervisor)
}

/// The other nodes. The settings were refused if they could not be read.
pub(super) fn nodes(settings: &Settings) -> anyhow::Result<Vec<Node>> {
    settings::nodes(settings).map_err(|(setting, why)| anyhow!("{setting}: {why}"))
}
