use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ERRORS;
use crate::app::App;
use crate::effect::Effect;
use crate::error::{Code, Error};
use crate::memory::Size;
use crate::method::{Example, Method};
use crate::methods::{sample, tag};
use crate::session::auth::{Permission, Session};
use crate::session::guard::Concern;
use hero_model::{ContextId, Message, MessageKey};

/// Returns a message.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GetMessage {
    /// The sender; 0 is nobody.
    caller_id: u32,
    /// Its number.
    message_id: u32,
    /// The context that has it.
    #[serde(default)]
    context_id: ContextId,
}

impl Method for GetMessage {
    const NAME: &'static str = "get_message";
    const TAG: &'static str = tag::COORDINATOR;
    const PERMISSION: Permission = Permission::Read;
    const EFFECT: Effect = Effect::Reads;
    const ERRORS: &'static [Code] = ERRORS;
    const SIZE: Size = Size::Medium;
    const RESULT: &'static str = "The message.";
    type Output = Message;

    fn examples() -> Vec<Example<Self, Message>> {
        let sample = sample::message_that_came();
        let params = Self { caller_id: sample.caller_id, message_id: sample.message_id, context_id: sample.context_id };
        vec![Example { name: "get one that came", params, result: sample }]
    }

    fn concern(&self) -> Concern<'_> {
        Concern::Messages(self.context_id, Some(self.caller_id))
    }

    async fn call(self, app: &App, _: &Session) -> Result<Message, Error> {
        let key = MessageKey { caller_id: self.caller_id, message_id: self.message_id };
        Ok(app.messages.get(self.context_id, key).await?)
    }
}
