use super::unexpected;
use crate::Error;
use crate::fcall::Function;
use crate::views::Access;
use hero_model::{IdentityId, Role};

const FUNCTION: Function = Function("grant");

/// What came of a role that was to be given or taken away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Granted {
    /// That is so now.
    Changed,
    /// It was so before.
    Same,
    /// As many have the role as may. Nothing was done.
    Full,
}

impl Access<'_> {
    /// Gives an identity a role in this context, or takes it away.
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
