//! The message loops of a server, according to the settings.

use std::sync::Arc;

use anyhow::anyhow;
use tokio_util::sync::CancellationToken;

use super::backend::Backend;
use super::node_key;
use super::settings::{MyceliumApi, Settings};
use crate::coordinator::bus::{Api, Mycelium};
use crate::coordinator::{IDLE_CONNECTION_TIMEOUT, MessageLoopSettings, MessageLoops, NodeKey, Wakes};

/// Starts the message loops for each served context.
pub(crate) fn start(
    settings: &Settings,
    backend: &Backend,
    key: NodeKey,
    wakes: Wakes,
    shutdown: &CancellationToken,
) -> anyhow::Result<Arc<MessageLoops>> {
    let mycelium = settings.mycelium_url.as_deref().map(|url| {
        let api = if settings.mycelium_api == MyceliumApi::Rest { Api::Rest } else { Api::JsonRpc };
        Mycelium::new(url, api, &settings.mycelium_topic).map_err(|error| anyhow!("mycelium_url: {error}"))
    });
    let loop_settings = MessageLoopSettings {
        key,
        nodes: node_key::nodes(settings)?,
        mycelium: mycelium.transpose()?,
        authority: settings.login.then(|| backend.authority.clone()),
        ack: settings.remote_ack,
        result: settings.remote_result,
        kept: IDLE_CONNECTION_TIMEOUT,
    };
    let message_loops = Arc::new(MessageLoops::start(backend.dispatcher.clone(), loop_settings, wakes, shutdown.clone()));
    backend.hosting.bring_messages_with(&message_loops);
    Ok(message_loops)
}
