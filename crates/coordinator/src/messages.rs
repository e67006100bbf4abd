use super::Error;
use super::known_nodes::KnownNodes;
use super::ping::{Pinger, came};
use super::runner_job;
use super::wakes::Wakes;
use hero_jobs::dispatch::{self, Dispatcher, OpenContext};
use hero_model::{
    Address, ContextId, Draft, Message, MessageKey, MessageList, MessagePage, MessageStatus, MessageType, Name, Pong, RunnerId, excerpt,
};
use hero_store::{MessageAcknowledged, MessageDeleted, MessageStored};

/// Maximum size of the text, and of the jobs, of a message, in bytes.
pub const LONGEST_MESSAGE: usize = 1 << 20;
/// Maximum timeout of a message, in seconds.
const LONGEST_TIME: u32 = 30 * 24 * 3600;

/// The messages of all contexts of this server. Cheap to clone.
#[derive(Clone)]
pub struct Messages {
    dispatcher: Dispatcher,
    wakes: Wakes,
    /// The nodes that are known here.
    known: Option<KnownNodes>,
    /// Asks who is at an address, if this server is a node.
    pinger: Option<Pinger>,
}

impl Messages {
    /// Creates an interface to the messages of a dispatcher's contexts. `wakes` wakes the loops that send them.
    pub const fn new(dispatcher: Dispatcher, wakes: Wakes) -> Self {
        Self { dispatcher, wakes, known: None, pinger: None }
    }

    /// Refuses addresses of unknown nodes at once.
    #[must_use]
    pub fn with_known_nodes(self, known: KnownNodes) -> Self {
        Self { known: Some(known), ..self }
    }

    /// Sets what pings addresses.
    #[must_use]
    pub fn with_pinger(self, pinger: Pinger) -> Self {
        Self { pinger: Some(pinger), ..self }
    }

    /// Asks who is at an address. A missing answer is not an error: the result contains the reason.
    pub async fn ping(&self, context: ContextId, address: &Address, target: ContextId) -> Result<Pong, Error> {
        self.known.as_ref().map_or(Ok(()), |known| known.check(address))?;
        let store = self.store(context).await?;
        let answered = match &self.pinger {
            Some(pinger) => pinger.ask(&store, address, target).await,
            None => Err("this server has no key of a node".to_owned()),
        };
        Ok(came(address, target, answered))
    }

    /// Checks that a runner has this topic, or is of the type of that name. A message without an address goes to such a
    /// runner.
    async fn check_topic(&self, context: ContextId, store: &OpenContext, topic: &Name) -> Result<(), Error> {
        match (store.runners().has_for_topic(topic).await?, RunnerId::of_group(topic)) {
            (true, _) => Ok(()),
            (false, Some(id)) => Err(Error::NoRunner { id, context }),
            (false, None) => {
                let message = format!(
                    "is that of a runner (runner1 and so on, or its own; list_runners gives them) or a script type that runners have, and {topic} is that of none in context {context}; else give an address, too"
                );
                Err(Error::Invalid { param: "topic", message })
            }
        }
    }

    async fn store(&self, context: ContextId) -> Result<OpenContext, Error> {
        Ok(self.dispatcher.contexts().store(context).await?)
    }

    /// Stores an outgoing message. It is sent in the background, and its status shows the outcome.
    pub async fn send(&self, context: ContextId, draft: Draft) -> Result<Message, Error> {
        let store = self.store(context).await?;
        let job = serde_json::to_string(&draft.job).expect("JSON can be written");
        check(&draft, &job)?;
        match (&draft.address, &draft.topic) {
            (Some(address), _) => self.known.as_ref().map_or(Ok(()), |known| known.check(address))?,
            (None, Some(topic)) => self.check_topic(context, &store, topic).await?,
            (None, None) => {}
        }
        let fields = [
            ("message", draft.message),
            ("message_type", draft.message_type.to_string()),
            ("message_format_type", draft.message_format_type.to_string()),
            ("timeout", (draft.timeout_ack + draft.timeout_result).to_string()),
            ("timeout_ack", draft.timeout_ack.to_string()),
            ("timeout_result", draft.timeout_result.to_string()),
            ("job", job),
            ("target_context", draft.target_context.to_string()),
            ("topic", draft.topic.map(|topic| topic.to_string()).unwrap_or_default()),
            ("address", draft.address.map(|address| address.to_string()).unwrap_or_default()),
        ];
        let number = match store.messages().send(draft.caller_id, &fields).await? {
            MessageStored::Stored(number) => number,
            MessageStored::Full => {
                return Err(Error::Full(format!("context {context} already has 10,000 messages that wait to be sent (msg_out)")));
            }
            MessageStored::NoList => return Err(Error::NoList { key: MessageList::Out.key(), context }),
            MessageStored::NoNumber => return Err(Error::Full(format!("context {context} has no free message numbers"))),
        };
        self.wakes.of(context).notify_one();
        self.get(context, MessageKey { caller_id: draft.caller_id, message_id: number }).await
    }

    /// Returns a message.
    pub async fn get(&self, context: ContextId, key: MessageKey) -> Result<Message, Error> {
        let found = self.store(context).await?.messages().get(key).await?;
        found.map(|stored| stored.shown).ok_or(Error::NoMessage { key, context })
    }

    /// Returns a page of the messages in a list, of this caller or of all.
    pub async fn list(
        &self,
        context: ContextId,
        list: MessageList,
        caller: Option<u32>,
        cursor: Option<&str>,
        limit: usize,
    ) -> Result<MessagePage, Error> {
        let store = self.store(context).await?;
        let from = cursor.map(|cursor| cursor.parse().map_err(|()| dispatch::Error::bad_page_cursor())).transpose()?;
        let page = store.messages().page(list, from, limit).await?;
        let (names, next) = page.ok_or(Error::NoList { key: list.key(), context })?;
        let next_cursor = next.map(|place| place.to_string());
        let mut found: Vec<Message> = store.messages().get_all(&names).await?.into_iter().flatten().map(|stored| stored.shown).collect();
        if let Some(caller) = caller {
            found.retain(|message| message.caller_id == caller);
        }
        Ok(MessagePage { messages: found, next_cursor })
    }

    /// Returns a page of the messages with a status, in either direction, of this caller or of all. The newest with
    /// this status come first.
    pub async fn list_of(
        &self,
        context: ContextId,
        status: MessageStatus,
        caller: Option<u32>,
        cursor: Option<&str>,
        limit: usize,
    ) -> Result<MessagePage, Error> {
        let from = cursor.map(|cursor| cursor.parse().map_err(|()| dispatch::Error::bad_page_cursor())).transpose()?;
        let store = self.store(context).await?;
        let (names, next) = store.messages().of_status(status, from, limit).await?;
        let (mut messages, mut gone) = (Vec::new(), Vec::new());
        for (name, stored) in names.iter().zip(store.messages().get_all(&names).await?) {
            match stored {
                Some(stored) => messages.push(stored.shown),
                None => gone.push(*name),
            }
        }
        store.messages().forget(status, &gone).await?;
        // It may have changed meanwhile.
        messages.retain(|message| message.status == status && caller.is_none_or(|caller| message.caller_id == caller));
        Ok(MessagePage { messages, next_cursor: next.map(|place| place.to_string()) })
    }

    /// Acknowledges an incoming message for its owner, and removes it from `msg_in`.
    pub async fn acknowledge(&self, context: ContextId, key: MessageKey) -> Result<Message, Error> {
        match self.store(context).await?.messages().acknowledge(key).await? {
            MessageAcknowledged::Done => self.get(context, key).await,
            MessageAcknowledged::Missing => Err(Error::NoMessage { key, context }),
            MessageAcknowledged::GoesOut => Err(Error::GoesOut { key, context }),
        }
    }

    /// Deletes a message whose result is not awaited.
    pub async fn delete(&self, context: ContextId, key: MessageKey) -> Result<(), Error> {
        match self.store(context).await?.messages().delete(key).await? {
            MessageDeleted::Deleted => Ok(()),
            MessageDeleted::Missing => Err(Error::NoMessage { key, context }),
            MessageDeleted::Open => Err(Error::Awaited { key, context }),
            MessageDeleted::Untold => Err(Error::Untold { key, context }),
            MessageDeleted::Unanswered => Err(Error::Unanswered { key, context }),
        }
    }
}

fn check(draft: &Draft, job: &str) -> Result<(), Error> {
    let invalid = |param: &'static str, message: String| Err(Error::Invalid { param, message });
    for (what, size) in [("message", draft.message.len()), ("job", job.len())] {
        if size > LONGEST_MESSAGE {
            return Err(dispatch::Error::TooLarge { what, size, limit: LONGEST_MESSAGE, setting: "a fixed limit" }.into());
        }
    }
    for (param, time) in [("timeout_ack", draft.timeout_ack), ("timeout_result", draft.timeout_result)] {
        if time == 0 || time > LONGEST_TIME {
            return invalid(param, format!("is 1 to {LONGEST_TIME} seconds, not {time}"));
        }
    }
    if draft.address.is_none() && draft.topic.is_none() {
        return invalid("address", "is missing: where the message goes to; or topic, that of a runner".into());
    }
    match draft.message_type {
        MessageType::Result => invalid("message_type", "result is for the coordinator alone: send job, chat or mail".into()),
        // The context of the receiver limits the length of scripts.
        MessageType::Job => match runner_job::read(job, draft.caller_id, 1, usize::MAX) {
            Ok(_) => Ok(()),
            Err(why) => {
                let why = why.strip_prefix("job: ").unwrap_or(&why).to_owned();
                invalid("job", excerpt(&why, 500).into_owned())
            }
        },
        MessageType::Chat | MessageType::Mail if !draft.job.is_empty() => invalid("job", "only a message of type job has jobs".into()),
        MessageType::Chat | MessageType::Mail => Ok(()),
    }
}
