//! The supervisor daemon of a server, as the settings say.

use std::str::FromStr;
use std::sync::Arc;

use anyhow::{Context as _, anyhow, bail};
use tokio_util::sync::CancellationToken;

use super::backend::Backend;
use super::key_file::KeyFile;
use super::settings::{MyceliumApi, Settings};
use crate::coordinator::bus::{Api, Mycelium};
use crate::coordinator::{KEPT, Node, NodeKey, Supervisor, SupervisorSettings, Wakes};
use crate::model::{Address, Name, Place, SignerKey};
use crate::store::Endpoint;

/// The name of the file with the node's key in the data directory.
const NAME: &str = "node.key";

/// The key of this node.
pub(super) fn node_key(settings: &Settings) -> anyhow::Result<NodeKey> {
    let path = settings.node_key_file.clone().unwrap_or_else(|| settings.data.join(NAME));
    KeyFile { path: &path, setting: "node_key_file", of: "a node" }.read_or_make(|| {
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

/// The other nodes, as two settings have them: `NAME=KEY` and `NAME=URL`.
fn nodes(settings: &Settings) -> anyhow::Result<Vec<Node>> {
    let mut nodes: Vec<Node> = Vec::new();
    for entry in &settings.nodes {
        let (name, key) = named::<SignerKey>(entry).with_context(|| format!("nodes: {entry:?} is no node, such as berlin=<its key>"))?;
        if nodes.iter().any(|node| node.name == name) {
            bail!("nodes: {name} is given twice");
        }
        nodes.push(Node { name, key: Some(key), redis: None });
    }
    for entry in &settings.node_redis {
        // The entry is not repeated, because it may have a password.
        let bad = || "node_redis: an entry is no node and its Redis, such as berlin=redis://host:6379".to_owned();
        let (name, url) = entry.split_once('=').with_context(bad)?;
        let (name, url) = (name.trim().parse::<Name>().with_context(bad)?, url.trim());
        let without_password = match (url.split_once("://"), url.rsplit_once('@')) {
            (Some((scheme, _)), Some((_, host))) => format!("{scheme}://{host}"),
            _ => url.to_owned(),
        };
        if !without_password.parse::<Address>().is_ok_and(|address| matches!(address.place(), Place::Redis(_))) {
            bail!("{}", bad());
        }
        let redis = Some(Endpoint { url: url.to_owned(), ..Endpoint::default() });
        match nodes.iter_mut().find(|node| node.name == name) {
            Some(node) => node.redis = redis,
            None => nodes.push(Node { name, key: None, redis }),
        }
    }
    Ok(nodes)
}

fn named<T: FromStr>(entry: &str) -> anyhow::Result<(Name, T)>
where
    T::Err: std::error::Error + Send + Sync + 'static,
{
    let (name, value) = entry.split_once('=').context("it has no =")?;
    Ok((name.trim().parse()?, value.trim().parse()?))
}
