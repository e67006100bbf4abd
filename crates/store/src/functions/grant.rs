use super::unexpected;
use crate::Error;
use crate::library::fcall::Function;
use crate::views::Access;
use hero_model::{IdentityId, Role};

const FUNCTION: Function = Function("grant");

/// The result of granting or revoking a role.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Granted {
    /// The role was changed.
    Changed,
    /// The role was already so.
    Same,
    /// The most allowed number of identities have the role. Nothing was done.
    Full,
}

impl Access<'_> {
    /// Grants an identity a role in this context, or revokes it.
    pub async fn set_role(self, identity: IdentityId, role: Role, granted: bool) -> Result<Granted, Error> {
        let mut call = self.0.call(&FUNCTION);
        call.arg(role.list()).arg(identity.0).arg(if granted { "grant" } else { "revoke" });
        match self.0.commands.function::<String>(&call).await?.as_str() {
            "changed" => Ok(Granted::Changed),
            "same" => Ok(Granted::Same),
            "full" => Ok(Granted::Full),
            reply => Err(unexpected("grant", &reply)),
        }
    }
}
