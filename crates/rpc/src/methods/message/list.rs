use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ERRORS;
use crate::app::App;
use crate::effect::Effect;
use crate::error::{Code, Error};
use crate::memory::Size;
use crate::method::{Example, Method};
use crate::methods::{PageSize, sample, tag};
use crate::session::auth::{Permission, Session};
use crate::session::guard::Concern;
use hero_model::{ContextId, MessageList, MessagePage, MessageStatus};

/// Lists received messages that were not fetched, or messages to be sent, in the order in which they are taken; or
/// messages of one status.
///
/// A page may have fewer messages than `limit`, or none, although more follow: only the last page has no `next_cursor`.
#[serde_with::skip_serializing_none]
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListMessages {
    /// The list to read.
    #[serde(default)]
    list: MessageList,
    /// The `next_cursor` of the previous page.
    cursor: Option<String>,
    /// The maximum number of messages.
    #[serde(default)]
    limit: PageSize,
    /// Only messages of this caller.
    caller_id: Option<u32>,
    /// The context that has them.
    #[serde(default)]
    context_id: ContextId,
    /// Only messages of this status, received and sent, latest to reach it first: the last 10,000. `list` is ignored
    /// then.
    status: Option<MessageStatus>,
}

impl Method for ListMessages {
    const NAME: &'static str = "list_messages";
    const TAG: &'static str = tag::COORDINATOR;
    const PERMISSION: Permission = Permission::Read;
    const EFFECT: Effect = Effect::Reads;
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
