//! Messages between contexts and nodes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{PageSize, sample, tag};
use crate::act::object;
use crate::app::App;
use crate::auth::{Permission, Principal, Session};
use crate::destination::{may_go, may_go_by};
use crate::error::{Code, Error};
use crate::guard::Concern;
use crate::memory::Size;
use crate::method::{Example, Method};
use hero_model::{
    Address, ContextId, Draft, Json, Message, MessageFormat, MessageKey, MessageList, MessagePage, MessageStatus, MessageType, Name, Pong,
};

/// What looking at messages can answer.
const ERRORS: &[Code] = &[Code::TooLarge, Code::StoreUnavailable, Code::NotFound];

const fn ack() -> u32 {
    300
}

const fn result() -> u32 {
    3600
}

/// Sends a message: it is stored and brought to the other side in the background, and its status says what became of it.
///
/// Jobs of a message run at the other side, and for each a message of type `result` comes back.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SendMessage {
    /// What it says; a megabyte at most.
    #[serde(default)]
    message: String,
    /// Where it goes: `here` (another context of this server), `node:NAME`, `redis://…`, or a node of Mycelium.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Address")]
    address: Option<Address>,
    /// What it is about: normally the topic of a runner, whose address it goes to if it has none. A script type is the topic of all runners that have it,
    /// which take turns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Name")]
    topic: Option<Name>,
    /// The context it is for.
    #[serde(default)]
    target_context: ContextId,
    /// What it is.
    #[serde(default)]
    message_type: MessageType,
    /// What it is written in.
    #[serde(default)]
    message_format_type: MessageFormat,
    /// Its jobs, if it is of type `job`, as the coordinator writes them: each with a `script`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    job: Vec<Json>,
    /// The seconds within which the other side has to have stored it.
    #[serde(default = "ack")]
    timeout_ack: u32,
    /// The seconds after that within which a result has to come.
    #[serde(default = "result")]
    timeout_result: u32,
    /// Who sends it; the identity of the session by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u32")]
    caller_id: Option<u32>,
    /// The context it comes from.
    #[serde(default)]
    context_id: ContextId,
}

impl Method for SendMessage {
    const NAME: &'static str = "send_message";
    const TAG: &'static str = tag::COORDINATOR;
    const PERMISSION: Permission = Permission::Submit;
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
            job: self.job,
            target_context: self.target_context,
            topic: self.topic,
            address: self.address,
        };
        Ok(app.messages.send(self.context_id, draft).await?)
    }
}

/// Asks who is at an address: the way there, the key of the node that answers, its clock, and how long the answer took. Nothing is stored of it, and where
/// nobody answers `error` says why.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PingNode {
    /// Who is asked: `here`, `node:NAME`, `redis://…`, or a node of Mycelium.
    address: Address,
    /// The context there.
    #[serde(default)]
    target_context: ContextId,
    /// The context that asks.
    #[serde(default)]
    context_id: ContextId,
}

impl Method for PingNode {
    const NAME: &'static str = "ping_node";
    const TAG: &'static str = tag::COORDINATOR;
    const PERMISSION: Permission = Permission::Submit;
    const ERRORS: &'static [Code] = &[Code::StoreUnavailable, Code::NotFound];
    const RESULT: &'static str = "What the node answered.";
    type Output = Pong;

    fn examples() -> Vec<Example<Self, Pong>> {
        let params = Self { address: "here".parse().expect("an address"), target_context: ContextId(0), context_id: ContextId(0) };
        vec![Example { name: "here", params, result: sample::pong() }]
    }

    fn concern(&self) -> Concern<'_> {
        Concern::Context(self.context_id)
    }

    fn names(&self) -> Option<String> {
        Some(format!("{} target:{}", object("address", &self.address), self.target_context))
    }

    async fn call(self, app: &App, session: &Session) -> Result<Pong, Error> {
        may_go(app, session, &self.address, self.target_context)?;
        Ok(app.messages.ping(self.context_id, &self.address, self.target_context).await?)
    }
}

/// Gives a message.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GetMessage {
    /// Who sent it; 0 is nobody.
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

/// Lists messages that came and were not fetched, or that are to go out, those that are taken first first; or those of a status.
///
/// A page can have fewer messages than asked for, or none, and still not be the last: that one has no `next_cursor`.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListMessages {
    /// Which list.
    #[serde(default)]
    list: MessageList,
    /// The `next_cursor` of the page before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    cursor: Option<String>,
    /// The most messages to give.
    #[serde(default)]
    limit: PageSize,
    /// Only messages of this caller.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u32")]
    caller_id: Option<u32>,
    /// The context that has them.
    #[serde(default)]
    context_id: ContextId,
    /// Only messages of this status, whichever way they go, the one that got it last first: the last 10,000. `list` does not count then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "MessageStatus")]
    status: Option<MessageStatus>,
}

impl Method for ListMessages {
    const NAME: &'static str = "list_messages";
    const TAG: &'static str = tag::COORDINATOR;
    const PERMISSION: Permission = Permission::Read;
    const ERRORS: &'static [Code] = ERRORS;
    const SIZE: Size = Size::Large;
    const RESULT: &'static str = "The messages.";
    type Output = MessagePage;

    fn examples() -> Vec<Example<Self, MessagePage>> {
        let params = Self {
            list: MessageList::In,
            cursor: None,
            limit: PageSize::default(),
            caller_id: None,
            context_id: sample::SHOP,
            status: None,
        };
        let result = MessagePage { messages: vec![sample::message_that_came()], next_cursor: None };
        vec![Example { name: "what came", params, result }]
    }

    fn concern(&self) -> Concern<'_> {
        Concern::Messages(self.context_id, self.caller_id)
    }

    async fn call(self, app: &App, _: &Session) -> Result<MessagePage, Error> {
        let Self { list, cursor, limit, caller_id, context_id, status } = self;
        if let Some(status) = status {
            return Ok(app.messages.list_of(context_id, status, caller_id, cursor.as_deref(), limit.get()).await?);
        }
        Ok(app.messages.list(context_id, list, caller_id, cursor.as_deref(), limit.get()).await?)
    }
}

/// Notes that the owner of a message that came has it: it is not listed any more. Gives the message. One that is to go out the other side acknowledges.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AcknowledgeMessage {
    /// Who sent it; 0 is nobody.
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
    const ERRORS: &'static [Code] = &[Code::State, Code::TooLarge, Code::StoreUnavailable, Code::NotFound];
    const SIZE: Size = Size::Medium;
    const RESULT: &'static str = "The message as it is now.";
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

/// Deletes a message whose result nobody awaits. Gives true.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeleteMessage {
    /// Who sent it; 0 is nobody.
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
