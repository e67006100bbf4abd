use serde_json::json;

use super::connection::Client;
use super::error::Error;
use hero_model::{Address, ContextId, Draft, Message, MessageKey, MessageList, MessagePage, MessageStatus, Pong};

/// The methods for messages.
impl Client {
    /// Sends a message. A caller of 0 means the identity of this client.
    pub async fn send_message(&self, context_id: ContextId, draft: &Draft) -> Result<Message, Error> {
        let params = json!({
            "message": draft.message,
            "address": draft.address,
            "topic": draft.topic,
            "target_context": draft.target_context,
            "message_type": draft.message_type,
            "message_format_type": draft.message_format_type,
            "job": draft.job.iter().map(|job| job.to_value().unwrap_or_default()).collect::<Vec<_>>(),
            "timeout_ack": draft.timeout_ack,
            "timeout_result": draft.timeout_result,
            "caller_id": (draft.caller_id != 0).then_some(draft.caller_id),
            "context_id": context_id,
        });
        self.call("send_message", params).await
    }

    /// Asks who is at an address, as seen from a context.
    pub async fn ping_node(&self, context_id: ContextId, address: &Address, target_context: ContextId) -> Result<Pong, Error> {
        self.call("ping_node", json!({ "address": address, "target_context": target_context, "context_id": context_id })).await
    }

    /// Returns a message.
    pub async fn get_message(&self, context_id: ContextId, key: MessageKey) -> Result<Message, Error> {
        let MessageKey { caller_id, message_id } = key;
        self.call("get_message", json!({ "caller_id": caller_id, "message_id": message_id, "context_id": context_id })).await
    }

    /// Returns a page of the messages in a list: those of a caller, or all.
    pub async fn list_messages(
        &self,
        context_id: ContextId,
        list: MessageList,
        caller_id: Option<u32>,
        cursor: Option<&str>,
        limit: usize,
    ) -> Result<MessagePage, Error> {
        let params = json!({ "list": list, "caller_id": caller_id, "cursor": cursor, "limit": limit, "context_id": context_id });
        self.call("list_messages", params).await
    }

    /// Returns a page of the messages with a status, in either direction: those of a caller, or all.
    pub async fn list_messages_of(
        &self,
        context_id: ContextId,
        status: MessageStatus,
        caller_id: Option<u32>,
        cursor: Option<&str>,
        limit: usize,
    ) -> Result<MessagePage, Error> {
        let params = json!({ "status": status, "caller_id": caller_id, "cursor": cursor, "limit": limit, "context_id": context_id });
        self.call("list_messages", params).await
    }

    /// Acknowledges a message for its owner.
    pub async fn acknowledge_message(&self, context_id: ContextId, key: MessageKey) -> Result<Message, Error> {
        let MessageKey { caller_id, message_id } = key;
        self.call("acknowledge_message", json!({ "caller_id": caller_id, "message_id": message_id, "context_id": context_id })).await
    }

    /// Deletes a message.
    pub async fn delete_message(&self, context_id: ContextId, key: MessageKey) -> Result<(), Error> {
        let MessageKey { caller_id, message_id } = key;
        let params = json!({ "caller_id": caller_id, "message_id": message_id, "context_id": context_id });
        self.call::<bool>("delete_message", params).await.map(drop)
    }
}
