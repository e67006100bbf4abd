//! Checks incoming envelopes: their signer, the signer's rights, and the clock. Then stores them.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Deserialize;

use super::bus::BusError;
use super::envelope::{Envelope, Kind};
use super::receipt::{Receipt, ReceiptStatus};
use super::signature::{NodeKey, is_right};
use super::{recording, runner_job};
use hero_access::Authority;
use hero_audit::Who;
use hero_jobs::dispatch::{self, Dispatcher};
use hero_model::{ContextId, ErrorKind, IdentityId, JobError, MessageKey, MessageType, Name, Role, SignerKey, Timestamp};
use hero_store::{self as store, FarEnd, MadeJobs, NewMessage, NewResult, Received};

/// Maximum difference between the clocks of two nodes.
pub(super) const CLOCK_TOLERANCE: Duration = Duration::from_secs(120);
/// Maximum lifetime of a message, in seconds. During this time it is remembered that the message came.
const LONGEST_LIFE: u32 = 30 * 24 * 3600;
/// Maximum length of the text of a job's error that is stored.
const LONGEST_ERROR: usize = 64 << 10;

/// The sender address of envelopes from another context of this server.
pub(super) const HERE: &str = "here";

/// Accepts envelopes for the contexts of this server.
pub(super) struct Inbound {
    pub(super) dispatcher: Dispatcher,
    /// Checks rights; `None` if callers do not log in.
    pub(super) authority: Option<Authority>,
    pub(super) key: NodeKey,
    /// The trusted nodes, by their keys.
    pub(super) trusted: BTreeMap<SignerKey, Name>,
}

/// The signer of an envelope.
pub(super) enum Signer {
    /// This node, or a trusted one.
    Node,
    /// An identity. Its clock is not checked, because it may have signed long before.
    Identity,
    /// The runner whose result it is, according to its message.
    Runner,
}

/// An incoming envelope, in the form in which it is stored.
enum Came {
    Message(NewMessage),
    Result(NewResult),
}

/// The end of a job in a result message.
#[derive(Debug, Deserialize)]
struct ResultMessage {
    status: String,
    #[serde(default)]
    output: String,
    #[serde(default)]
    format: Option<String>,
    #[serde(default)]
    error: String,
    #[serde(default)]
    kind: Option<String>,
    #[serde(default)]
    line: Option<u32>,
    #[serde(default)]
    column: Option<u32>,
}

/// A refusal: permanent or temporary.
pub(super) enum Refusal {
    Refused(String),
    Full(String),
    /// The named signer has not signed it, so the refusal does not concern the messages of that signer.
    Forged(String),
}

impl From<String> for Refusal {
    fn from(why: String) -> Self {
        Self::Refused(why)
    }
}

impl From<store::Error> for Refusal {
    fn from(error: store::Error) -> Self {
        if matches!(error, store::Error::Deleting(_)) {
            return Self::Refused(error.to_string());
        }
        tracing::warn!(%error, "an incoming message could not be stored; its sender will send it again");
        Self::Full("the store of the other side is unavailable".into())
    }
}

impl From<dispatch::Error> for Refusal {
    fn from(error: dispatch::Error) -> Self {
        match error {
            dispatch::Error::NoContext(_) | dispatch::Error::Deleting(_) => Self::Refused(error.to_string()),
            dispatch::Error::Store { source, .. } => source.into(),
            // The context could not be opened now.
            error => Self::Full(error.to_string()),
        }
    }
}

impl Inbound {
    /// Processes an incoming envelope. `from` is the address for the answer.
    pub(super) async fn take(&self, id: &str, text: Result<&str, &BusError>, from: Option<&str>) -> Receipt {
        let read = |text| serde_json::from_str::<Envelope>(text).map_err(|error| format!("it is not an envelope of hero: {error}"));
        let envelope = match text.map_err(BusError::to_string).and_then(read) {
            Ok(envelope) => envelope,
            Err(text) => {
                let nonce = id.parse().unwrap_or_else(|_| Name::default_group());
                return Receipt::of_no_envelope(nonce, text, &self.key);
            }
        };
        if envelope.kind == Kind::Ping {
            let is_own = envelope.public_key == self.key.public() || envelope.node == self.key.public();
            return match is_own && from != Some(HERE) {
                true => Receipt::of_no_envelope(envelope.nonce, "this node itself has sent it".into(), &self.key),
                false => self.pong(&envelope),
            };
        }
        let refused = |why: &str| {
            self.dispatcher.audit().refusal(|| recording::refused(&envelope));
            tracing::warn!(nonce = %envelope.nonce, key = %envelope.public_key, "an incoming message was refused: {why}");
        };
        let (outcome, text) = match self.accept(&envelope, from).await {
            Ok(()) => (ReceiptStatus::Stored, String::new()),
            Err(Refusal::Full(why)) => (ReceiptStatus::Full, why),
            Err(Refusal::Refused(why)) => {
                refused(&why);
                (ReceiptStatus::Refused, why)
            }
            Err(Refusal::Forged(why)) => {
                refused(&why);
                return Receipt::of_no_envelope(envelope.nonce, why, &self.key);
            }
        };
        Receipt::new(&envelope, outcome, text, &self.key)
    }

    async fn accept(&self, envelope: &Envelope, from: Option<&str>) -> Result<(), Refusal> {
        let context = envelope.target_context;
        if !is_right(envelope) {
            return Err(Refusal::Forged(format!("the signature is not that of {} over this message", envelope.public_key)));
        }
        if from != Some(HERE) {
            self.check_way(envelope)?;
        }
        // Only after these checks, so that an untrusted sender can neither open a sleeping context nor learn of it.
        let signer = self.signer(envelope).await?;
        let store = self.dispatcher.contexts().store(context).await?;
        let now = store.clock().now();
        // The contexts of one server have one clock.
        if from != Some(HERE) {
            check_clock(envelope, now, &signer)?;
        }
        let life = envelope.timeout_ack.min(LONGEST_LIFE);
        let again = seconds(envelope.created_at).plus(Duration::from_secs(life.into()) + 2 * CLOCK_TOLERANCE);
        if again < now {
            return Err(Refusal::Refused(format!("it came after its time: timeout_ack is {} s", envelope.timeout_ack)));
        }
        if envelope.kind == Kind::Stop {
            return self.take_stop(envelope, &store, again).await;
        }
        let came = match envelope.message_type {
            MessageType::Result => Came::Result(result(envelope)?),
            _ => Came::Message(message(envelope, again, from, store.longest_script())?),
        };
        let begun = || recording::of(self.sender(envelope, &signer), envelope);
        let doing = self.dispatcher.audit().begin(begun).map_err(|closed| Refusal::Full(format!("at the other side {closed}")))?;
        // If the store fails, the envelope comes again.
        let mut doing = doing.counted();
        let (received, made) = match &came {
            Came::Result(result) => (store.messages().receive_result(result).await?, MadeJobs::default()),
            Came::Message(message) => store.messages().receive(message).await?,
        };
        match received {
            Received::Stored => doing.end(|record| recording::made(record, &made)),
            _ => doing.give_up(),
        }
        match received {
            Received::Stored | Received::Duplicate => Ok(()),
            Received::Full(lack) => Err(Refusal::Full(format!("context {context} takes no more messages now: {lack}"))),
            Received::Crowded => {
                let why = "takes no more messages now: it remembers the maximum number, of this signer or of all, each until its timeout_ack is over";
                Err(Refusal::Full(format!("context {context} {why}")))
            }
            Received::Unknown => Err(Refusal::Refused("no result is awaited for that message (any more)".into())),
            Received::Signer => Err(Refusal::Refused(format!("the runner of that job does not have the key {}", envelope.public_key))),
        }
    }

    /// Checks that an envelope from a bus was sent to this node, and by another one: anybody who has the envelope may
    /// forward it.
    fn check_way(&self, envelope: &Envelope) -> Result<(), Refusal> {
        let own = self.key.public();
        match &envelope.to {
            // If several nodes share one Redis, the right one may fetch it when it comes again.
            Some(to) if *to != own => Err(Refusal::Full(format!("it is for the node {to}, and this one is {own}"))),
            // The answer tells the sender which node to name.
            None => Err(Refusal::Full(format!("it does not say which node it is for (to), and this one is {own}"))),
            Some(_) if envelope.node == own || envelope.public_key == own => {
                Err(Refusal::Refused("this node itself has sent it; other contexts of a server have the address here".into()))
            }
            Some(_) => Ok(()),
        }
    }

    /// Returns the sender of an envelope for the audit log, from its signature.
    pub(super) fn sender(&self, envelope: &Envelope, signer: &Signer) -> Who {
        let key = &envelope.public_key;
        match signer {
            Signer::Identity => Who::Signer(IdentityId(envelope.caller_id)),
            Signer::Node if *key == self.key.public() => Who::Node("here".to_owned()),
            Signer::Node | Signer::Runner => Who::Node(self.trusted.get(key).map_or_else(|| key.to_string(), Name::to_string)),
        }
    }

    /// Returns the signer of a valid signature, if the signer is accepted for this context.
    async fn signer(&self, envelope: &Envelope) -> Result<Signer, Refusal> {
        let key = &envelope.public_key;
        if *key == self.key.public() {
            self.check_own(envelope)?;
            return Ok(Signer::Node);
        }
        // A trusted node speaks for its callers.
        if self.trusted.contains_key(key) {
            return Ok(Signer::Node);
        }
        if envelope.kind == Kind::Stop {
            return Err(Refusal::Refused(format!("the key {key} is not trusted here; only the node that sent a job may stop it")));
        }
        // A context with an awaited result does not sleep.
        let awaits =
            self.dispatcher.contexts().opened(envelope.target_context).ok().filter(|_| envelope.message_type == MessageType::Result);
        let is_asleep = envelope.message_type == MessageType::Result && awaits.is_none();
        if let Some(store) = awaits {
            let asked = MessageKey { caller_id: envelope.caller_id, message_id: envelope.answers };
            let asked = store.messages().get(asked).await?.filter(|asked| asked.nonce.as_ref() == Some(&envelope.in_reply_to));
            match asked.as_ref().map(|asked| asked.runner_key.as_ref().or(asked.receiver_key.as_ref())) {
                Some(Some(right)) if right == key => return Ok(Signer::Runner),
                // The result came before the receipt of its message.
                Some(None) => return Err(Refusal::Full("the creator of the job is not known yet".into())),
                _ => {}
            }
        }
        let owner = match (key.of_identity(), self.dispatcher.contexts().opened(ContextId(0))) {
            // The caller that it names first: another program may have made that one.
            (Some(key), Ok(home)) if home.access().has_key(IdentityId(envelope.caller_id), &key).await? => {
                Some(IdentityId(envelope.caller_id))
            }
            (Some(key), Ok(home)) => home.access().identity_with(&key).await?,
            (Some(_), Err(error)) => return Err(Refusal::Full(format!("the owner of the key {key} cannot be looked up now: {error}"))),
            (None, _) => None,
        };
        let Some(identity) = owner else {
            let why = format!("the key {key} is not trusted here: name its node in the setting nodes, or give an identity that key");
            // The context may be about to open, if this server has just started.
            return Err(if is_asleep { Refusal::Full(why) } else { Refusal::Refused(why) });
        };
        if identity.0 != envelope.caller_id {
            return Err(Refusal::Refused(format!("it was signed by identity {identity}, and says that it is of {}", envelope.caller_id)));
        }
        self.may_submit(identity, envelope.target_context)?;
        Ok(Signer::Identity)
    }

    /// Checks whether a message that this node signed may be stored in its target context. Its caller was checked in
    /// the source context before, which gives no rights in another context. A result only answers a message of the
    /// target context.
    fn check_own(&self, envelope: &Envelope) -> Result<(), Refusal> {
        // A stop only ends jobs that the same context has sent.
        if envelope.kind == Kind::Stop || envelope.message_type == MessageType::Result || envelope.context == envelope.target_context {
            return Ok(());
        }
        Ok(self.may_submit(IdentityId(envelope.caller_id), envelope.target_context)?)
    }

    /// Checks whether an identity may submit jobs and messages in a context, or returns the missing right.
    pub(super) fn may_submit(&self, identity: IdentityId, context: ContextId) -> Result<(), String> {
        let may = |authority: &Authority| [Role::Admin, Role::Caller].into_iter().any(|role| authority.has_role(identity, context, role));
        if self.authority.as_ref().is_none_or(may) {
            return Ok(());
        }
        let needed = format!("needs to be admin or caller in context {context}");
        Err(if identity.0 == 0 {
            format!("it is of nobody (caller_id 0), and its caller {needed}: name such an identity as caller_id")
        } else {
            format!("identity {identity} {needed}; an admin of it may grant that")
        })
    }
}

/// Refuses an envelope that was signed by a clock that differs too much. For a node the refusal is temporary, because
/// its clock may be corrected and it signs each time it sends. An identity does not sign again.
fn check_clock(envelope: &Envelope, now: Timestamp, signer: &Signer) -> Result<(), Refusal> {
    let (made, sent) = (seconds(envelope.created_at), seconds(envelope.sent_at));
    let is_ahead = |time: Timestamp| time.since(now) > CLOCK_TOLERANCE;
    let is_late = now.since(sent) > CLOCK_TOLERANCE && !matches!(signer, Signer::Identity);
    // The time of creation decides how long it is remembered, so it must not be in the future.
    let (what, time) = if is_ahead(sent) || is_late { ("signed", sent) } else { ("made", made) };
    if !is_late && !is_ahead(time) {
        return Ok(());
    }
    let (difference, word) = if is_late { (now.since(time), "later") } else { (time.since(now), "earlier") };
    let why = format!(
        "the clocks differ: it was {what} at {time}, and here it is {now}, {} s {word}; {} s are tolerated",
        difference.as_secs(),
        CLOCK_TOLERANCE.as_secs()
    );
    if matches!(signer, Signer::Identity) {
        return Err(Refusal::Refused(why));
    }
    tracing::warn!(nonce = %envelope.nonce, key = %envelope.public_key, "an incoming message cannot be accepted yet: {why}");
    Err(Refusal::Full(why))
}

/// Converts a time of an envelope.
const fn seconds(seconds: i64) -> Timestamp {
    Timestamp::from_millis(seconds.saturating_mul(1000))
}

/// Returns the fields of the message hash of an envelope.
fn fields(envelope: &Envelope) -> Vec<(&'static str, String)> {
    let mut fields = vec![
        ("message", envelope.message.clone()),
        ("message_type", envelope.message_type.to_string()),
        ("message_format_type", envelope.message_format_type.to_string()),
        ("timeout", envelope.timeout.to_string()),
        ("timeout_ack", envelope.timeout_ack.to_string()),
        ("timeout_result", envelope.timeout_result.to_string()),
        ("job", envelope.job.clone()),
        ("logs", "[]".to_owned()),
        ("created_at", envelope.created_at.to_string()),
        ("updated_at", envelope.created_at.to_string()),
        ("status", if envelope.message_type == MessageType::Job { "acknowledged" } else { "dispatched" }.to_owned()),
        ("target_context", envelope.target_context.to_string()),
        ("topic", envelope.topic.clone()),
        ("signature", envelope.signature.clone()),
        ("public_key", envelope.public_key.to_string()),
    ];
    if !envelope.in_reply_to.is_empty() {
        fields.extend([("in_reply_to", envelope.in_reply_to.clone()), ("answers", envelope.answers.to_string())]);
    }
    fields
}

fn message(envelope: &Envelope, again: Timestamp, from: Option<&str>, longest_script: usize) -> Result<NewMessage, String> {
    let jobs = match envelope.message_type {
        MessageType::Job => runner_job::read(&envelope.job, envelope.caller_id, envelope.message_id, longest_script)?,
        _ => Vec::new(),
    };
    let mut fields = fields(envelope);
    let answer = from.map_or_else(|| format!("box:{}", envelope.node), str::to_owned);
    if from != Some(HERE) {
        fields.push(("reply_node", envelope.node.to_string()));
    }
    fields.extend([("reply_address", answer), ("reply_context", envelope.context.to_string())]);
    let nonce = envelope.nonce.as_str().to_owned();
    let (signer, caller, number) = (envelope.public_key.clone(), envelope.caller_id, envelope.message_id);
    Ok(NewMessage { nonce, signer, again, caller, number, fields, jobs })
}

fn result(envelope: &Envelope) -> Result<NewResult, String> {
    let said: ResultMessage =
        serde_json::from_str(&envelope.message).map_err(|error| format!("message: is no result of a job: {error}"))?;
    let end = if said.status == "finished" {
        FarEnd::Finished(said.output, if said.format.as_deref() == Some("json") { "json" } else { "text" })
    } else {
        let text = hero_model::excerpt(&said.error, LONGEST_ERROR).into_owned();
        let mut error = JobError::new(ErrorKind::parse(said.kind.as_deref(), &said.error), text);
        (error.line, error.column) = (said.line, said.column);
        FarEnd::Failed(error)
    };
    Ok(NewResult {
        nonce: envelope.nonce.as_str().to_owned(),
        caller: envelope.caller_id,
        number: envelope.answers,
        awaited: envelope.in_reply_to.clone(),
        signer: envelope.public_key.clone(),
        end,
        fields: fields(envelope),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_does_not_pass_is_refused_for_good() {
        let is_final = |error: dispatch::Error| matches!(Refusal::from(error), Refusal::Refused(_));
        assert!(is_final(dispatch::Error::NoContext(ContextId(7))) && is_final(dispatch::Error::Deleting(ContextId(7))));
        assert!(!is_final(dispatch::Error::from(store::Error::Closed)) && !is_final(dispatch::Error::many_contexts()));
    }
}
