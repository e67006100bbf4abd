//! The supervisor daemon of a server, as the settings say.

use std::sync::Arc;

use anyhow::anyhow;
use tokio_util::sync::CancellationToken;

use super::backend::Backend;
use super::node_key;
use super::settings::{MyceliumApi, Settings};
use crate::coordinator::bus::{Api, Mycelium};
use crate::coordinator::{KEPT, NodeKey, Supervisor, SupervisorSettings, Wakes};

/// Starts the loops that bring messages on, for each context that is served.
pub(crate) fn start(
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
        nodes: node_key::nodes(settings)?,
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
