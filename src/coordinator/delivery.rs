//! One message on its way: whether it may go, where it goes, and what comes of it.

use std::sync::Arc;
use std::time::Duration;

use super::bus::BusError;
use super::inbound::Inbound;
use super::letter::{Letter, Outcome, Receipt};
use super::routes::{Route, Routes};
use super::runner_job;
use super::signature::NodeKey;
use crate::access::Authority;
use crate::dispatch;
use crate::dispatch::Dispatcher;
use crate::model::{ErrorKind, IdentityId, JobId, MessageKey, MessageStatus, MessageType, Name, Role, Timestamp};
use crate::store::{Settled, Store, StoredMessage};

/// How long one attempt may take; after that the message rests, and is sent again.
const PATIENCE: Duration = Duration::from_secs(10);

/// What became of an attempt to deliver a message.
pub(super) enum Delivered {
    /// It is over.
    Settled(Settled),
    /// It is to be sent again; why it did not arrive.
    Later(String),
}

/// Delivers the messages of one context.
pub(super) struct Delivery {
    pub(super) store: Store,
    pub(super) dispatcher: Dispatcher,
    /// Who may do what; nothing where nobody has to log in.
    pub(super) authority: Option<Authority>,
    pub(super) key: NodeKey,
    pub(super) routes: Arc<Routes>,
    pub(super) inbound: Arc<Inbound>,
    /// How long the other side may take to store a job, and to answer it then.
    pub(super) ack: Duration,
    pub(super) result: Duration,
}

/// Why a message does not go: for good, or for now.
enum Obstacle {
    Final(String),
    Passing(String),
}

impl From<crate::store::Error> for Obstacle {
    fn from(error: crate::store::Error) -> Self {
        Self::Passing(error.to_string())
    }
}

impl From<BusError> for Obstacle {
    fn from(error: BusError) -> Self {
        if error.is_final() { Self::Final(error.to_string()) } else { Self::Passing(error.to_string()) }
    }
}

impl Delivery {
    /// Tries to deliver a message. `last` is why it did not arrive the last time.
    pub(super) async fn deliver(&self, key: MessageKey, last: Option<String>) -> Delivered {
        let failed = |why: String| Delivered::Settled(Settled::Failed(ErrorKind::Unavailable, why));
        let stored = match self.store.message(key).await {
            Ok(Some(stored)) => stored,
            Ok(None) => return failed("it is gone".into()),
            Err(error) => return Delivered::Later(error.to_string()),
        };
        match stored.shown.status {
            MessageStatus::Dispatched => {}
            MessageStatus::Acknowledged | MessageStatus::Processed => return Delivered::Settled(Settled::Stored(None)),
            MessageStatus::Error => return failed("it is in error already".into()),
        }
        let limit = Duration::from_secs(stored.shown.timeout_ack.into());
        if self.store.clock().now() > stored.shown.created_at.plus(limit + Duration::from_secs(1)) {
            let last = last.unwrap_or_else(|| "nobody sent it until then".into());
            return failed(format!("it was not acknowledged within {} s (timeout_ack): {last}", limit.as_secs()));
        }
        match self.attempt(key, &stored).await {
            Ok(Receipt { outcome: Outcome::Stored, node, .. }) => Delivered::Settled(Settled::Stored(Some(node))),
            Ok(Receipt { outcome: Outcome::Full, text, .. }) | Err(Obstacle::Passing(text)) => Delivered::Later(text),
            Ok(Receipt { outcome: Outcome::Refused, text, .. }) => failed(format!("the other side refuses it: {text}")),
            Err(Obstacle::Final(why)) => failed(why),
        }
    }

    async fn attempt(&self, key: MessageKey, stored: &StoredMessage) -> Result<Receipt, Obstacle> {
        self.check_caller(key, stored)?;
        let letter = self.letter(key, stored).await?;
        match self.route(stored).await? {
            Route::Here => {
                let text = serde_json::to_string(&letter).expect("a letter is texts and numbers");
                Ok(self.inbound.take(letter.nonce.as_str(), &text, Some("here")).await)
            }
            Route::Bus(bus, to) => Ok(bus.deliver(&to, &letter, PATIENCE).await?),
        }
    }

    /// Whether its caller may send messages from this context. The coordinator's own are those of jobs whose creators were asked; and those of nobody (0) are
    /// of the operator, or of programs that write to this Redis themselves.
    fn check_caller(&self, key: MessageKey, stored: &StoredMessage) -> Result<(), Obstacle> {
        let Some(authority) = &self.authority else { return Ok(()) };
        if key.caller_id == 0 || stored.away.is_some() || stored.shown.message_type == MessageType::Result {
            return Ok(());
        }
        let (identity, context) = (IdentityId(key.caller_id), self.store.context());
        if [Role::Admin, Role::Caller].into_iter().any(|role| authority.has_role(identity, context, role)) {
            return Ok(());
        }
        let why = format!("identity {identity} needs to be admin or caller in context {context} to send messages from it");
        Err(Obstacle::Final(why))
    }

    /// Where it goes: to its address, or that of the runner that has its topic.
    async fn route(&self, stored: &StoredMessage) -> Result<Route, Obstacle> {
        let shown = &stored.shown;
        if let Some(address) = &shown.address {
            return Ok(self.routes.find(&self.store, address, shown.target_context).await?);
        }
        let nowhere =
            || Obstacle::Final("it has no address, and no topic of a runner of this context: nobody knows where it is to go".into());
        let topic = shown.topic.as_ref().ok_or_else(nowhere)?;
        let number = topic.as_str().strip_prefix("runner").and_then(|number| number.parse().ok()).ok_or_else(nowhere)?;
        let missing = || Obstacle::Final(format!("runner {number} does not exist in context {}", self.store.context()));
        let runner = self.store.runner(number).await?.ok_or_else(missing)?;
        match &runner.address {
            Some(address) => Ok(self.routes.find(&self.store, address, runner.target_context).await?),
            None => Ok(Route::Here),
        }
    }

    /// The message as it is sent. What it lacks is completed in its hash first, so that it is the same when it is sent again.
    async fn letter(&self, key: MessageKey, stored: &StoredMessage) -> Result<Letter, Obstacle> {
        let shown = &stored.shown;
        let nonce = match &stored.nonce {
            Some(nonce) => nonce.clone(),
            None => {
                let nonce = format!("{:032x}", rand::random::<u128>());
                self.store.complete_message(key, &[("nonce", &nonce)]).await?;
                nonce
            }
        };
        let nonce: Name = nonce.parse().map_err(|error| Obstacle::Final(format!("nonce: {error}")))?;
        let job = match &stored.away {
            Some(id) if stored.job == "[]" => self.job(key, id, stored).await?,
            _ => stored.job.clone(),
        };
        let created_at = shown.created_at.as_millis() / 1000;
        let mut letter = Letter {
            nonce,
            caller_id: key.caller_id,
            message_id: key.message_id,
            message_type: shown.message_type,
            message_format_type: shown.message_format_type,
            context: self.store.context(),
            target_context: shown.target_context,
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
            node: self.key.public(),
            public_key: self.key.public(),
            signature: String::new(),
        };
        match (&stored.signature, &shown.public_key) {
            // Its sender has signed it.
            (Some(signature), Some(key)) => (letter.signature, letter.public_key) = (signature.clone(), key.clone()),
            _ => {
                letter.sent_at = Timestamp::local().as_millis() / 1000;
                self.key.sign(&mut letter);
            }
        }
        Ok(letter)
    }

    /// The job that is away with a message, as the other side is told of it.
    async fn job(&self, key: MessageKey, id: &JobId, stored: &StoredMessage) -> Result<String, Obstacle> {
        let context = self.store.context();
        let gone = || Obstacle::Final(format!("job {id} is gone"));
        let job = self.store.away_job(id).await?.ok_or_else(gone)?;
        let inputs = self.dispatcher.inputs(context, id).await.map_err(|error| match error {
            dispatch::Error::Store { .. } => Obstacle::Passing(error.to_string()),
            error => Obstacle::Final(error.to_string()),
        })?;
        let text = runner_job::write(&job, &inputs, key.caller_id, key.message_id, stored.shown.target_context).map_err(Obstacle::Final)?;
        self.store.complete_message(key, &[("job", &text)]).await?;
        Ok(text)
    }
}
