use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::app::App;
use crate::effect::Effect;
use crate::error::{Code, Error};
use crate::memory::Size;
use crate::method::{Example, Method};
use crate::methods::{sample, tag};
use crate::session::auth::{Permission, Session};
use crate::session::guard::Concern;
use hero_model::{ContextId, Message, MessageKey, MessageStatus};

/// Acknowledges a received message for its owner: it is no longer listed. Returns the message. The other side
/// acknowledges messages that are sent.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AcknowledgeMessage {
    /// The sender; 0 is nobody.
    caller_id: u32,
    /// Its number.
    message_id: u32,
    /// The context that has it.
    #[serde(default)]
    context_id: ContextId,
}

impl Method for AcknowledgeMessage {
    const NAME: &'static str = "acknowledge_message";
    const TAG: &'static str = tag::COORDINATOR;
    const PERMISSION: Permission = Permission::Submit;
    const EFFECT: Effect = Effect::Replaces;
    const ERRORS: &'static [Code] = &[Code::State, Code::TooLarge, Code::StoreUnavailable, Code::NotFound];
    const SIZE: Size = Size::Medium;
    const RESULT: &'static str = "The changed message.";
    type Output = Message;

    fn examples() -> Vec<Example<Self, Message>> {
        let mut sample = sample::message_that_came();
        let params = Self { caller_id: sample.caller_id, message_id: sample.message_id, context_id: sample.context_id };
        sample.status = MessageStatus::Acknowledged;
        vec![Example { name: "acknowledge", params, result: sample }]
    }

    fn concern(&self) -> Concern<'_> {
        Concern::Messages(self.context_id, Some(self.caller_id))
    }

    fn names(&self) -> Option<String> {
        Some(MessageKey { caller_id: self.caller_id, message_id: self.message_id }.to_string())
    }

    async fn call(self, app: &App, _: &Session) -> Result<Message, Error> {
        let key = MessageKey { caller_id: self.caller_id, message_id: self.message_id };
        Ok(app.messages.acknowledge(self.context_id, key).await?)
    }
}
