use super::calls::{AcknowledgeMessage, DeleteMessage, GetMessage, ListMessages, PingNode, SendMessage};
use super::connection::Client;
use super::error::Error;
use hero_model::{Address, ContextId, Draft, Message, MessageKey, MessageList, MessagePage, MessageStatus, Pong};

/// The methods for messages.
impl Client {
    /// Sends a message. A caller of 0 means the identity of this client.
    pub async fn send_message(&self, context_id: ContextId, draft: &Draft) -> Result<Message, Error> {
        self.call(&SendMessage { draft, context_id }).await
    }

    /// Asks who is at an address, as seen from a context.
    pub async fn ping_node(&self, context_id: ContextId, address: &Address, target_context: ContextId) -> Result<Pong, Error> {
        self.call(&PingNode { address, target_context, context_id }).await
    }

    /// Returns a message.
    pub async fn get_message(&self, context_id: ContextId, key: MessageKey) -> Result<Message, Error> {
        let MessageKey { caller_id, message_id } = key;
        self.call(&GetMessage { caller_id, message_id, context_id }).await
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
        let list = Some(list);
        self.call(&ListMessages { list, status: None, cursor, limit: Some(limit), caller_id, context_id }).await
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
        let status = Some(status);
        self.call(&ListMessages { list: None, status, cursor, limit: Some(limit), caller_id, context_id }).await
    }

    /// Acknowledges a message for its owner.
    pub async fn acknowledge_message(&self, context_id: ContextId, key: MessageKey) -> Result<Message, Error> {
        let MessageKey { caller_id, message_id } = key;
        self.call(&AcknowledgeMessage { caller_id, message_id, context_id }).await
    }

    /// Deletes a message.
    pub async fn delete_message(&self, context_id: ContextId, key: MessageKey) -> Result<(), Error> {
        let MessageKey { caller_id, message_id } = key;
        self.call(&DeleteMessage { caller_id, message_id, context_id }).await.map(drop)
    }
}
