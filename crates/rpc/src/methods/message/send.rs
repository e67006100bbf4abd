use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::app::App;
use crate::destination::{may_go, may_go_by};
use crate::effect::Effect;
use crate::error::{Code, Error};
use crate::memory::Size;
use crate::method::{Example, Method};
use crate::methods::{sample, tag};
use crate::session::act::object;
use crate::session::auth::{Permission, Principal, Session};
use crate::session::guard::Concern;
use hero_model::{Address, ContextId, Draft, JobJson, Json, Message, MessageFormat, MessageKey, MessageType, Name};

const fn ack() -> u32 {
    300
}

const fn result() -> u32 {
    3600
}

/// Sends a message: the server stores it and delivers it in the background. The status of the message shows its
/// progress.
///
/// Jobs of a message run at the other side, which sends back a message of type `result` for each.
#[serde_with::skip_serializing_none]
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SendMessage {
    /// The text; at most a megabyte.
    #[serde(default)]
    message: String,
    /// The destination: `here` (another context of this server), `node:NAME`, `redis://…`, or a node of Mycelium.
    address: Option<Address>,
    /// The topic, normally that of a runner. A message without an address goes to the address of that runner. A script
    /// type is the topic of all runners of that type, which take turns.
    topic: Option<Name>,
    /// The context that receives it.
    #[serde(default)]
    target_context: ContextId,
    /// The type of the message.
    #[serde(default)]
    message_type: MessageType,
    /// The format of the text.
    #[serde(default)]
    message_format_type: MessageFormat,
    /// The jobs of a message of type `job`, in the form of the coordinator's specification: each with a `script`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Vec<Json>")]
    job: Vec<JobJson>,
    /// The seconds within which the other side must store it.
    #[serde(default = "ack")]
    timeout_ack: u32,
    /// The seconds after that within which a result must arrive.
    #[serde(default = "result")]
    timeout_result: u32,
    /// The sender; the identity of the session by default.
    caller_id: Option<u32>,
    /// The context it comes from.
    #[serde(default)]
    context_id: ContextId,
}

impl Method for SendMessage {
    const NAME: &'static str = "send_message";
    const TAG: &'static str = tag::COORDINATOR;
    const PERMISSION: Permission = Permission::Submit;
    const EFFECT: Effect = Effect::Adds;
    const ERRORS: &'static [Code] = &[Code::QueueFull, Code::TooLarge, Code::StoreUnavailable, Code::NotFound];
    const SIZE: Size = Size::Medium;
    const RESULT: &'static str = "The message.";
    type Output = Message;

    fn examples() -> Vec<Example<Self, Message>> {
        let sample = sample::message();
        let params = Self {
            message: sample.message.clone(),
            address: sample.address.clone(),
            topic: None,
            target_context: sample.target_context,
            message_type: sample.message_type,
            message_format_type: sample.message_format_type,
            job: Vec::new(),
            timeout_ack: ack(),
            timeout_result: result(),
            caller_id: None,
            context_id: ContextId(0),
        };
        vec![Example { name: "to another context of the server", params, result: sample }]
    }

    fn concern(&self) -> Concern<'_> {
        match self.caller_id {
            Some(caller) => Concern::Messages(self.context_id, Some(caller)),
            None => Concern::Context(self.context_id),
        }
    }

    fn names(&self) -> Option<String> {
        Some(object("target", self.target_context))
    }

    fn made(made: &Self::Output) -> Option<String> {
        let key = MessageKey { caller_id: made.caller_id, message_id: made.message_id };
        Some(format!("{key} {}", object("target", made.target_context)))
    }

    async fn call(self, app: &App, session: &Session) -> Result<Message, Error> {
        let caller_id = match (session.principal(), self.caller_id) {
            (Principal::Identity(login), Some(caller)) if caller != login.identity().0 => {
                return Err(Error::Denied(format!("caller_id has to be {}, who you are; leave it out", login.identity()).into()));
            }
            (Principal::Identity(login), _) => login.identity().0,
            (Principal::Operator | Principal::Anonymous, caller) => caller.unwrap_or(0),
        };
        match (&self.address, &self.topic) {
            (Some(address), _) => may_go(app, session, address, self.target_context)?,
            (None, Some(topic)) => may_go_by(app, session, self.context_id, topic).await?,
            (None, None) => {}
        }
        let draft = Draft {
            caller_id,
            message: self.message,
            message_type: self.message_type,
            message_format_type: self.message_format_type,
            timeout_ack: self.timeout_ack,
            timeout_result: self.timeout_result,
            job: self.job.into_iter().map(|JobJson(job)| job).collect(),
            target_context: self.target_context,
            topic: self.topic,
            address: self.address,
        };
        Ok(app.messages.send(self.context_id, draft).await?)
    }
}
