//! Where callers may have messages and jobs go: what an address leads to.

use super::app::App;
use super::auth::{Permission, Principal, Session};
use super::error::Error;
use super::guard::lacking;
use crate::model::{Address, ContextId, Place, Role};

/// Whether a session may have something go to a context at an address. Into another context of this server goes what its caller may submit there.
///
/// It is asked again when a message arrives, because rights change; this only tells callers at once.
pub(super) fn may_go(app: &App, session: &Session, address: &Address, target: ContextId) -> Result<(), Error> {
    let Principal::Identity(login) = session.principal() else { return Ok(()) };
    let has = |role| app.authority.has_role(login.identity(), target, role);
    match address.place() {
        Place::Here if !has(Role::Admin) && !has(Role::Caller) => Err(lacking(login.identity(), Some(target), Permission::Submit)),
        _ => Ok(()),
    }
}
