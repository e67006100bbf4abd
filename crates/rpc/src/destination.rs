//! Checks the destinations of messages and jobs: where an address leads.

use super::app::App;
use super::error::Error;
use crate::session::auth::{Permission, Principal, Session};
use crate::session::guard::lacking;
use hero_model::{Address, AddressTarget, ContextId, IdentityId, Name, Role, Runner};

/// Checks whether a session may send something to a context at an address.
///
/// Another context of this server takes what the caller may submit there. That is checked again when a message arrives, because rights
/// change; this check only tells callers at once. Only the operator may use a Redis address, because the server connects to it from its own
/// place in the network.
pub(super) fn may_go(app: &App, session: &Session, address: &Address, target: ContextId) -> Result<(), Error> {
    let Principal::Identity(login) = session.principal() else { return Ok(()) };
    match address.target() {
        AddressTarget::Here => may_submit(app, login.identity(), target),
        AddressTarget::Redis(_) => Err(Error::Denied(
            "address: a Redis by its address is named by the operator only, who may have it in the setting node_redis (NAME=URL); write node:NAME then"
                .into(),
        )),
        AddressTarget::Node(_) | AddressTarget::Box(_) | AddressTarget::MyceliumIp(_) | AddressTarget::MyceliumKey(_) => Ok(()),
    }
}

/// Like [`may_go`], but for a topic: the destination is its runner, or one of the runners of a script type, which take turns. Another caller set
/// that runner's address, so a Redis address is allowed. The message reports errors of the topic.
pub(super) async fn may_go_by(app: &App, session: &Session, context: ContextId, topic: &Name) -> Result<(), Error> {
    let Principal::Identity(login) = session.principal() else { return Ok(()) };
    let targets = match app.runners.of_topic(context, topic).await? {
        Some(Runner { address: Some(address), target_context, .. }) if matches!(address.target(), AddressTarget::Here) => {
            [target_context].into()
        }
        Some(_) => return Ok(()),
        None => app.runners.targets_of_type(context, topic).await?,
    };
    targets.into_iter().try_for_each(|target| may_submit(app, login.identity(), target))
}

fn may_submit(app: &App, identity: IdentityId, target: ContextId) -> Result<(), Error> {
    let has = |role| app.authority.has_role(identity, target, role);
    if has(Role::Admin) || has(Role::Caller) { Ok(()) } else { Err(lacking(identity, Some(target), Permission::Submit)) }
}
