use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::app::App;
use crate::effect::Effect;
use crate::error::{Code, Error};
use crate::method::{Example, Method};
use crate::methods::{sample, tag};
use crate::session::auth::{Permission, Session};
use crate::session::guard::Concern;
use hero_model::{ContextId, MessageKey};

/// Deletes a message whose result nobody awaits. Returns true.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeleteMessage {
    /// The sender; 0 is nobody.
    caller_id: u32,
    /// Its number.
    message_id: u32,
    /// The context that has it.
    #[serde(default)]
    context_id: ContextId,
}

impl Method for DeleteMessage {
    const NAME: &'static str = "delete_message";
    const TAG: &'static str = tag::COORDINATOR;
    const PERMISSION: Permission = Permission::Submit;
    const EFFECT: Effect = Effect::Replaces;
    const ERRORS: &'static [Code] = &[Code::State, Code::StoreUnavailable, Code::NotFound];
    const RESULT: &'static str = "True.";
    type Output = bool;

    fn examples() -> Vec<Example<Self, bool>> {
        let sample = sample::message();
        let params = Self { caller_id: sample.caller_id, message_id: sample.message_id, context_id: ContextId(0) };
        vec![Example { name: "delete", params, result: true }]
    }

    fn concern(&self) -> Concern<'_> {
        Concern::Messages(self.context_id, Some(self.caller_id))
    }

    fn names(&self) -> Option<String> {
        Some(MessageKey { caller_id: self.caller_id, message_id: self.message_id }.to_string())
    }

    async fn call(self, app: &App, _: &Session) -> Result<bool, Error> {
        let key = MessageKey { caller_id: self.caller_id, message_id: self.message_id };
        app.messages.delete(self.context_id, key).await?;
        Ok(true)
    }
}
