//! Where callers may have messages and jobs go: what an address leads to.

use super::app::App;
use super::auth::{Permission, Principal, Session};
use super::error::Error;
use super::guard::lacking;
use hero_model::{Address, ContextId, IdentityId, Name, Place, Role, Runner};

/// Whether a session may have something go to a context at an address.
///
/// Into another context of this server goes what its caller may submit there. That is asked again when a message arrives, because rights change; this
/// only tells callers at once. A Redis by its address is for the operator: the server connects to it, from where it stands in its network.
pub(super) fn may_go(app: &App, session: &Session, address: &Address, target: ContextId) -> Result<(), Error> {
    let Principal::Identity(login) = session.principal() else { return Ok(()) };
    match address.place() {
        Place::Here => may_submit(app, login.identity(), target),
        Place::Redis(_) => Err(Error::Denied(
            "address: a Redis by its address is named by the operator only, who may have it in the setting node_redis (NAME=URL); write node:NAME then"
                .into(),
        )),
        Place::Node(_) | Place::Box(_) | Place::MyceliumIp(_) | Place::MyceliumKey(_) => Ok(()),
    }
}

/// The same of what goes where the runner is that has a topic, or to one of those of a script type, which take turns. Another one has named that, so a Redis
/// by its address is no matter of this caller; and what is wrong with a topic is said by the message.
pub(super) async fn may_go_by(app: &App, session: &Session, context: ContextId, topic: &Name) -> Result<(), Error> {
    let Principal::Identity(login) = session.principal() else { return Ok(()) };
    let targets = match app.runners.of_topic(context, topic).await? {
        Some(Runner { address: Some(address), target_context, .. }) if matches!(address.place(), Place::Here) => [target_context].into(),
        Some(_) => return Ok(()),
        None => app.runners.targets_of_type(context, topic).await?,
    };
    targets.into_iter().try_for_each(|target| may_submit(app, login.identity(), target))
}

fn may_submit(app: &App, identity: IdentityId, target: ContextId) -> Result<(), Error> {
    let has = |role| app.authority.has_role(identity, target, role);
    if has(Role::Admin) || has(Role::Caller) { Ok(()) } else { Err(lacking(identity, Some(target), Permission::Submit)) }
}
