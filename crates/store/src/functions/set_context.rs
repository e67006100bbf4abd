use std::collections::BTreeSet;

use super::unexpected;
use crate::Error;
use crate::codec::json;
use crate::fcall::Function;
use crate::views::Contexts;
use hero_model::{ContextLimits, IdentityId};

const FUNCTION: Function = Function("set_context");
/// Leaves a field as it is.
const LEAVE: &str = "-";

/// What is to be known of a context. What is not named stays as it is.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ContextChange {
    /// What it is for; an empty text takes the name away.
    pub name: Option<String>,
    /// What may be used in it, in place of all that was said before.
    pub limits: Option<ContextLimits>,
    /// Who may do everything in it.
    pub admins: Option<BTreeSet<IdentityId>>,
}

impl Contexts<'_> {
    /// Makes the hash of this context, or changes it. False: the context is being deleted, and nothing was done.
    pub async fn set(self, change: &ContextChange) -> Result<bool, Error> {
        let leave = || LEAVE.to_owned();
        let mut call = self.0.call(&FUNCTION);
        call.arg(change.name.as_ref().map_or_else(leave, |name| format!("={name}")));
        call.arg(change.limits.as_ref().map_or_else(leave, json)).arg(change.admins.as_ref().map_or_else(leave, json));
        match self.0.commands.function::<String>(&call).await?.as_str() {
            "stored" => Ok(true),
            "closed" => Ok(false),
            reply => Err(unexpected("set_context", &reply)),
        }
    }
}
