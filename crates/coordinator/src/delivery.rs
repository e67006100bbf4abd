//! The delivery of one message: whether it may be sent, its destination, and the outcome.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tokio::time::Instant;

use super::bus::{Bus, BusError};
use super::envelope::{Envelope, Kind};
use super::inbound::{HERE, Inbound};
use super::receipt::{Receipt, ReceiptStatus};
use super::receiver::{HandOverError, Receivers, Transmission};
use super::remote_connections::RemoteContext;
use super::routes::{Route, Routes};
use super::runner_job;
use super::signature::{NodeKey, is_right};
use super::silence::{Silence, Telling};
use hero_jobs::dispatch;
use hero_jobs::dispatch::Dispatcher;
use hero_model::{
    Address, ContextId, ErrorKind, IdentityId, JobId, Message, MessageKey, MessageStatus, MessageType, Name, Runner, RunnerId, SignerKey,
    Timestamp, tree,
};
use hero_store::{Settled, Store, StoredMessage};

/// Timeout of one attempt. After it the message rests, and is sent again.
pub(super) const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(10);
/// A message is given up this long after its timeout.
const GIVE_UP_DELAY: Duration = Duration::from_secs(1);

/// The outcome of an attempt to deliver a message.
pub(super) enum Delivered {
    /// The delivery has ended.
    Settled(Settled),
    /// The message must be sent again.
    Later {
        /// The reason why it did not arrive.
        why: String,
        /// The time it rests, if it is known.
        rest: Option<Duration>,
        /// The maximum time it rests, up to its timeout.
        most: Duration,
    },
}

/// Delivers the messages of one context.
pub(super) struct Delivery {
    pub(super) store: Store,
    pub(super) dispatcher: Dispatcher,
    pub(super) key: NodeKey,
    /// The name of this server among the servers that send messages of its contexts.
    pub(super) sender: String,
    pub(super) routes: Arc<Routes>,
    pub(super) inbound: Arc<Inbound>,
    /// The remote contexts that do not answer.
    pub(super) silence: Silence,
    /// The nodes at remote contexts whose node is not configured.
    pub(super) receivers: Receivers,
    /// The remote contexts that are being told of stops.
    pub(super) telling: Telling,
    /// The timeouts for the other side: to store a job, and then to return its result.
    pub(super) ack: Duration,
    pub(super) result: Duration,
}

/// The reason why a message is not sent: a permanent or a temporary one.
pub(super) enum Obstacle {
    Final(String),
    Passing(String),
    /// The destination did not answer.
    Unanswered(String),
    /// The destination does not answer, so it is left alone for a while.
    Silent(String, Duration),
    /// The message has arrived meanwhile: another server has sent it, too, or its result has come.
    Over,
}

impl From<hero_store::Error> for Obstacle {
    fn from(error: hero_store::Error) -> Self {
        Self::Passing(error.to_string())
    }
}

/// The destination of a message.
pub(super) struct Destination {
    pub(super) address: Address,
    /// The context at the destination.
    pub(super) target: ContextId,
    /// The key of the node at the destination, if it is known.
    pub(super) receiver: Option<SignerKey>,
}

impl From<BusError> for Obstacle {
    fn from(error: BusError) -> Self {
        if error.is_final() { Self::Final(error.to_string()) } else { Self::Unanswered(error.to_string()) }
    }
}

impl From<HandOverError> for Obstacle {
    fn from(error: HandOverError) -> Self {
        match error {
            HandOverError::Bus(error) => error.into(),
            HandOverError::Own => {
                // If several nodes share one Redis, another one may answer the next time.
                Self::Passing("the node that answers there is this one itself; other contexts of this server have the address here".into())
            }
            HandOverError::Unnamed => Self::Final("it names no receiving node: sign it with the key of that node in its field to".into()),
        }
    }
}

impl Delivery {
    /// Tries to deliver a message. `last` is the reason why it did not arrive at the last attempt.
    pub(super) async fn deliver(&self, key: MessageKey, last: Option<String>) -> Delivered {
        let gone = || Delivered::Settled(Settled::Failed(ErrorKind::Unavailable, "it is gone".into()));
        let stored = match self.store.messages().get(key).await {
            Ok(Some(stored)) => stored,
            Ok(None) => return gone(),
            Err(error) if error.is_spoilt() => return Delivered::Settled(Settled::Failed(ErrorKind::Unavailable, error.to_string())),
            Err(error) => return Delivered::Later { why: error.to_string(), rest: None, most: Duration::MAX },
        };
        // An attempt stores its job before it sends the message. So even if a later attempt fails, the message may have
        // arrived, and its job may run there.
        let may_be_there = stored.away.is_some() && stored.job != "[]";
        let failed =
            |why: String| Delivered::Settled(if may_be_there { Settled::Over(why) } else { Settled::Failed(ErrorKind::Unavailable, why) });
        match stored.shown.status {
            MessageStatus::Dispatched => {}
            MessageStatus::Acknowledged | MessageStatus::Processed => return Delivered::Settled(Settled::Stored(None)),
            MessageStatus::Error => return failed("it is in error already".into()),
        }
        let limit = Duration::from_secs(stored.shown.timeout_ack.into());
        let over = stored.shown.created_at.plus(limit + GIVE_UP_DELAY);
        if self.store.clock().now() > over {
            let last = last.unwrap_or_else(|| "nobody sent it until then".into());
            let why = format!("it was not acknowledged within {} s (timeout_ack): {last}", limit.as_secs());
            return Delivered::Settled(Settled::Over(why));
        }
        let later = |why, rest| {
            let most = over.since(self.store.clock().now()) + Duration::from_millis(10);
            Delivered::Later { why, rest, most }
        };
        match self.attempt(key, &stored).await {
            Ok(Receipt { outcome: ReceiptStatus::Stored, node, .. }) => Delivered::Settled(Settled::Stored(Some(node))),
            Err(Obstacle::Passing(why) | Obstacle::Unanswered(why)) => later(why, None),
            Err(Obstacle::Silent(why, rest)) => later(why, Some(rest)),
            Ok(receipt) if !receipt.is_final() => later(receipt.text, None),
            Ok(Receipt { text, .. }) => failed(format!("the other side refuses it: {text}")),
            Err(Obstacle::Final(why)) => failed(why),
            Err(Obstacle::Over) => Delivered::Settled(Settled::Stored(None)),
        }
    }

    async fn attempt(&self, key: MessageKey, stored: &StoredMessage) -> Result<Receipt, Obstacle> {
        self.check_caller(key, stored)?;
        let Some(Destination { address, target, receiver }) = self.destination(stored).await? else {
            return Ok(self.inbound.take_here(&self.envelope(key, stored, self.store.context(), None).await?).await);
        };
        let remote: RemoteContext = (address.as_str().to_owned(), target);
        let sending = Box::pin(async {
            let mut envelope = self.envelope(key, stored, target, receiver.as_ref()).await?;
            match self.routes.find(&self.store, &address, target).await? {
                Route::Here => Ok(self.inbound.take_here(&envelope).await),
                Route::Bus(bus, to) => match self.hand_over(&*bus, &to, &remote, &mut envelope).await {
                    Err(HandOverError::Bus(BusError::TooLarge { size, limit })) if envelope.message_type == MessageType::Result => {
                        let mut envelope = self.without_output(key, envelope, size, limit).await?;
                        Ok(self.hand_over(&*bus, &to, &remote, &mut envelope).await?)
                    }
                    delivered => Ok(delivered?),
                },
            }
        });
        let trying = async {
            match sending.await {
                Err(Obstacle::Unanswered(_)) if self.is_over(key).await => Err(Obstacle::Over),
                sent => sent,
            }
        };
        self.try_at(&remote, "messages were not delivered; retrying until their timeout_ack", trying).await
    }

    /// Sends something to a remote context, unless that is left alone, and notes whether it answers. `consequence` is
    /// logged when it stops answering.
    pub(super) async fn try_at(
        &self,
        remote: &RemoteContext,
        consequence: &str,
        sending: impl Future<Output = Result<Receipt, Obstacle>>,
    ) -> Result<Receipt, Obstacle> {
        let began = Instant::now();
        self.silence.may_try(remote, began).map_err(|(rest, why)| Obstacle::Silent(why, rest))?;
        match sending.await {
            Ok(receipt) => {
                self.silence.answered(remote);
                self.routes.answered(remote);
                Ok(receipt)
            }
            Err(Obstacle::Unanswered(why)) => {
                let (rest, is_news) = self.silence.keeps_silent(remote, began, &why, Instant::now());
                if is_news {
                    tracing::warn!(context = %self.store.context(), address = %remote.0, target_context = %remote.1, "{consequence}: {why}");
                }
                Err(Obstacle::Silent(why, rest))
            }
            Err(obstacle) => {
                self.silence.leave(remote);
                Err(obstacle)
            }
        }
    }

    /// Hands over an envelope that names its receiver, and returns the receipt.
    pub(super) async fn hand_over(
        &self,
        bus: &dyn Bus,
        to: &str,
        remote: &RemoteContext,
        envelope: &mut Envelope,
    ) -> Result<Receipt, HandOverError> {
        let transmission = Transmission { key: &self.key, bus, to, remote, patience: ATTEMPT_TIMEOUT };
        transmission.hand_over(envelope, &self.receivers).await
    }

    /// True if a message need not be sent any more.
    async fn is_over(&self, key: MessageKey) -> bool {
        let stored = self.store.messages().get(key).await;
        stored.is_ok_and(|stored| stored.is_some_and(|stored| stored.shown.status != MessageStatus::Dispatched))
    }

    /// Turns a result that is too large for every bus into a failure of its job, so that the waiter learns it at once
    /// and not at its timeout.
    async fn without_output(&self, key: MessageKey, mut envelope: Envelope, size: usize, limit: usize) -> Result<Envelope, Obstacle> {
        let said = tree(&envelope.message).unwrap_or_default();
        let error = format!("the result has {size} bytes on its way as a message, the limit is {limit}; have the job give less");
        envelope.message = json!({ "job": said["job"], "status": "error", "error": error, "kind": ErrorKind::Limit.as_str() }).to_string();
        self.complete(key, "message", &envelope.message).await?;
        self.key.sign(&mut envelope);
        Ok(envelope)
    }

    /// Checks whether the caller may send messages from this context. The coordinator's own messages are for jobs whose
    /// creators were checked. Messages of caller 0 come from the operator, or from programs that write to this Redis
    /// themselves.
    fn check_caller(&self, key: MessageKey, stored: &StoredMessage) -> Result<(), Obstacle> {
        if key.caller_id == 0 || stored.away.is_some() || stored.shown.message_type == MessageType::Result {
            return Ok(());
        }
        self.inbound.may_submit(IdentityId(key.caller_id), self.store.context()).map_err(Obstacle::Final)
    }

    /// Returns the destination: the address and context of the message, or those of the runner with its topic. `None`
    /// means a pool of this context.
    pub(super) async fn destination(&self, stored: &StoredMessage) -> Result<Option<Destination>, Obstacle> {
        let shown = &stored.shown;
        if let Some(address) = &shown.address {
            let receiver = of_node(stored.runner_key.as_ref()).or_else(|| self.routes.key_of(address));
            return Ok(Some(Destination { address: address.clone(), target: shown.target_context, receiver }));
        }
        let nowhere = || Obstacle::Final("it has neither an address nor the topic of a runner of this context".into());
        let topic = shown.topic.as_ref().ok_or_else(nowhere)?;
        let runner =
            match stored.runner {
                // It may have gone there already, so it goes nowhere else.
                Some(id) => self.store.runners().get(id).await?.ok_or_else(|| {
                    Obstacle::Final(format!("runner {id}, which was chosen among those of type {topic}, no longer exists"))
                })?,
                None => self.runner_for(stored, topic).await?,
            };
        Ok(runner.address.map(|address| {
            let receiver = of_node(runner.pubkey.as_ref()).or_else(|| self.routes.key_of(&address));
            Destination { address, target: runner.target_context, receiver }
        }))
    }

    /// Returns the runner for the topic of a message, or the one chosen among the runners of the type of that name. The
    /// choice is stored before the message is sent.
    async fn runner_for(&self, stored: &StoredMessage, topic: &Name) -> Result<Runner, Obstacle> {
        let Message { caller_id, message_id, .. } = stored.shown;
        let found = self.store.runners().for_topic(topic).await?;
        let runner = found.ok_or_else(|| {
            let (context, number) = (self.store.context(), RunnerId::of_group(topic));
            Obstacle::Final(match number {
                Some(number) => format!("runner {number} does not exist in context {context}"),
                None => format!("no runner of context {context} has the topic {topic}, or is of that type"),
            })
        })?;
        if runner.topic != *topic && runner.runner_id.group() != *topic {
            self.complete(MessageKey { caller_id, message_id }, "runner", &runner.runner_id.to_string()).await?;
        }
        Ok(runner)
    }

    /// Returns the envelope for a context. Missing fields are first stored in the hash of the message, so that it is
    /// the same when it is sent again.
    async fn envelope(
        &self,
        key: MessageKey,
        stored: &StoredMessage,
        target: ContextId,
        receiver: Option<&SignerKey>,
    ) -> Result<Envelope, Obstacle> {
        let shown = &stored.shown;
        let nonce = match &stored.nonce {
            Some(nonce) => nonce.clone(),
            None => {
                let nonce = format!("{:032x}", rand::random::<u128>());
                self.complete(key, "nonce", &nonce).await?;
                nonce
            }
        };
        let nonce: Name = nonce.parse().map_err(|error| Obstacle::Final(format!("nonce: {error}")))?;
        let job = match &stored.away {
            Some(id) if stored.job == "[]" => self.job(key, id, stored).await?,
            _ => stored.job.clone(),
        };
        let created_at = shown.created_at.as_millis() / 1000;
        let mut envelope = Envelope {
            caller_id: key.caller_id,
            message_id: key.message_id,
            message_type: shown.message_type,
            message_format_type: shown.message_format_type,
            topic: shown.topic.as_ref().map(ToString::to_string).unwrap_or_default(),
            message: shown.message.clone(),
            job,
            timeout: shown.timeout,
            timeout_ack: shown.timeout_ack,
            timeout_result: shown.timeout_result,
            created_at,
            sent_at: created_at,
            in_reply_to: stored.in_reply_to.clone().unwrap_or_default(),
            answers: shown.answers.unwrap_or(0),
            to: stored.to.clone(),
            ..Envelope::new(Kind::Message, nonce, self.store.context(), target, self.key.public())
        };
        match (&stored.signature, &shown.public_key) {
            // The sender of the message has signed it.
            (Some(signature), Some(key)) => {
                (envelope.signature, envelope.public_key, envelope.target_context) = (signature.clone(), key.clone(), shown.target_context);
                if !is_right(&envelope) {
                    return Err(Obstacle::Final(format!("its signature is not that of {key} over this message")));
                }
            }
            _ => {
                envelope.sent_at = Timestamp::local().as_millis() / 1000;
                envelope.to = envelope.to.or_else(|| receiver.cloned());
                self.key.sign(&mut envelope);
            }
        }
        Ok(envelope)
    }

    /// Returns the job that a message carries, in the form for the other side.
    async fn job(&self, key: MessageKey, id: &JobId, stored: &StoredMessage) -> Result<String, Obstacle> {
        let context = self.store.context();
        let gone = || Obstacle::Final(format!("job {id} is gone"));
        let job = self.store.messages().away_job(id).await?.ok_or_else(gone)?;
        let inputs = self.dispatcher.jobs().inputs(context, id).await.map_err(|error| match error {
            dispatch::Error::Store { .. } => Obstacle::Passing(error.to_string()),
            error => Obstacle::Final(error.to_string()),
        })?;
        let text = runner_job::write(&job, &inputs, key.caller_id, key.message_id, stored.shown.target_context).map_err(Obstacle::Final)?;
        self.complete(key, "job", &text).await?;
        Ok(text)
    }

    async fn complete(&self, key: MessageKey, field: &str, value: &str) -> Result<(), Obstacle> {
        if self.store.messages().complete(key, &[(field, value)]).await? { Ok(()) } else { Err(Obstacle::Final("it is gone".into())) }
    }
}

impl Inbound {
    /// Processes an envelope for a context of this server itself.
    pub(super) async fn take_here(&self, envelope: &Envelope) -> Receipt {
        let text = serde_json::to_string(envelope).expect("an envelope is texts and numbers");
        self.take(envelope.nonce.as_str(), Ok(&text), Some(HERE)).await
    }
}

/// Returns a key if it belongs to a node: those are ed25519.
pub(super) fn of_node(key: Option<&SignerKey>) -> Option<SignerKey> {
    key.filter(|key| key.of_identity().is_none()).cloned()
}
