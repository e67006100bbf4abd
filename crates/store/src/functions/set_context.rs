use std::collections::BTreeSet;

use super::unexpected;
use crate::Error;
use crate::library::fcall::Function;
use crate::value::json;
use crate::views::Contexts;
use hero_model::{ContextLimits, IdentityId};

const FUNCTION: Function = Function("set_context");
/// The value that leaves a field unchanged.
const LEAVE: &str = "-";

/// A change of a context. Fields that are not named stay unchanged.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ContextChange {
    /// The name; an empty text removes it.
    pub name: Option<String>,
    /// The limits, which replace all earlier ones.
    pub limits: Option<ContextLimits>,
    /// The admins, who may do everything in it.
    pub admins: Option<BTreeSet<IdentityId>>,
}

impl Contexts<'_> {
    /// Creates the hash of this context, or changes it.
    pub async fn set(self, change: &ContextChange) -> Result<(), Error> {
        let leave = || LEAVE.to_owned();
        let mut call = self.0.call(&FUNCTION);
        call.arg(change.name.as_ref().map_or_else(leave, |name| format!("={name}")));
        call.arg(change.limits.as_ref().map_or_else(leave, json)).arg(change.admins.as_ref().map_or_else(leave, json));
        match self.0.commands.function::<String>(&call).await?.as_str() {
            "stored" => Ok(()),
            reply => Err(unexpected("set_context", &reply)),
        }
    }
}
