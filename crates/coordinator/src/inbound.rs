//! What came over a bus: who signed it, whether that counts here, and what is stored of it.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Deserialize;

use super::bus::BusError;
use super::letter::{Kind, Letter};
use super::receipt::{Outcome, Receipt};
use super::signature::{NodeKey, is_right};
use super::{recording, runner_job};
use hero_access::Authority;
use hero_audit::Who;
use hero_jobs::dispatch::{self, Dispatcher};
use hero_model::{ContextId, ErrorKind, IdentityId, JobError, MessageKey, MessageType, Name, Role, SignerKey, Timestamp};
use hero_store::{self as store, FarEnd, MadeJobs, NewMessage, NewResult, Received};

/// How far the clocks of two nodes may be from each other.
pub(super) const TOLERANCE: Duration = Duration::from_secs(120);
/// No message lives longer: until then it is known that it came.
const LONGEST_LIFE: u32 = 30 * 24 * 3600;
/// The longest text of a job's error that is taken over.
const LONGEST_ERROR: usize = 64 << 10;

/// From where a letter comes that another context of this server sends.
pub(super) const HERE: &str = "here";

/// Takes letters for the contexts that are served here.
pub(super) struct Inbound {
    pub(super) dispatcher: Dispatcher,
    /// Who may do what; nothing where nobody has to log in.
    pub(super) authority: Option<Authority>,
    pub(super) key: NodeKey,
    /// The nodes whose letters are taken, by their keys.
    pub(super) trusted: BTreeMap<SignerKey, Name>,
}

/// Whom a signature is of.
pub(super) enum Signer {
    /// This node, or one that is trusted here.
    Node,
    /// An identity, whose own clock does not count: it may have signed long before.
    Identity,
    /// The runner whose result it is, as far as its message says.
    Runner,
}

/// What came, as it is stored.
enum Came {
    Message(NewMessage),
    Result(NewResult),
}

/// How a job ended, as a result message says it.
#[derive(Debug, Deserialize)]
struct Said {
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

/// A refusal: for good, or for now.
pub(super) enum Refusal {
    Refused(String),
    Full(String),
    /// Whom it names has not signed it, so it says nothing of what that one has sent.
    Forged(String),
}

impl From<String> for Refusal {
    fn from(why: String) -> Self {
        Self::Refused(why)
    }
}

impl From<store::Error> for Refusal {
    fn from(error: store::Error) -> Self {
        tracing::warn!(%error, "a message that came could not be stored; it comes again");
        Self::Full("the store of the other side is unavailable".into())
    }
}

impl From<dispatch::Error> for Refusal {
    fn from(error: dispatch::Error) -> Self {
        match error {
            dispatch::Error::NoContext(_) | dispatch::Error::Deleting(_) => Self::Refused(error.to_string()),
            dispatch::Error::Store { source, .. } => source.into(),
            // It could not be opened now.
            error => Self::Full(error.to_string()),
        }
    }
}

impl Inbound {
    /// Takes a letter as it came. `from` is where an answer goes to.
    pub(super) async fn take(&self, id: &str, text: Result<&str, &BusError>, from: Option<&str>) -> Receipt {
        let read = |text| serde_json::from_str::<Letter>(text).map_err(|error| format!("it is no letter of hero: {error}"));
        let letter = match text.map_err(BusError::to_string).and_then(read) {
            Ok(letter) => letter,
            Err(text) => {
                let nonce = id.parse().unwrap_or_else(|_| Name::default_group());
                return Receipt::of_no_letter(nonce, text, &self.key);
            }
        };
        if letter.kind == Kind::Ping {
            let is_own = letter.public_key == self.key.public() || letter.node == self.key.public();
            return match is_own && from != Some(HERE) {
                true => Receipt::of_no_letter(letter.nonce, "this node itself has sent it".into(), &self.key),
                false => self.pong(&letter),
            };
        }
        let refused = |why: &str| {
            self.dispatcher.audit().refusal(|| recording::refused(&letter));
            tracing::warn!(nonce = %letter.nonce, key = %letter.public_key, "a message that came was refused: {why}");
        };
        let (outcome, text) = match self.accept(&letter, from).await {
            Ok(()) => (Outcome::Stored, String::new()),
            Err(Refusal::Full(why)) => (Outcome::Full, why),
            Err(Refusal::Refused(why)) => {
                refused(&why);
                (Outcome::Refused, why)
            }
            Err(Refusal::Forged(why)) => {
                refused(&why);
                return Receipt::of_no_letter(letter.nonce, why, &self.key);
            }
        };
        Receipt::new(&letter, outcome, text, &self.key)
    }

    async fn accept(&self, letter: &Letter, from: Option<&str>) -> Result<(), Refusal> {
        let context = letter.target_context;
        if !is_right(letter) {
            return Err(Refusal::Forged(format!("the signature is not that of {} over this message", letter.public_key)));
        }
        if from != Some(HERE) {
            self.check_way(letter)?;
        }
        // Only then: a context that sleeps is not opened for whoever has no word here, nor does anybody hear of it.
        let signer = self.signer(letter).await?;
        let store = self.dispatcher.store(context).await?;
        let now = store.clock().now();
        // Between the contexts of this server there are no two clocks.
        if from != Some(HERE) {
            check_clock(letter, now, &signer)?;
        }
        let life = letter.timeout_ack.min(LONGEST_LIFE);
        let again = seconds(letter.created_at).plus(Duration::from_secs(life.into()) + 2 * TOLERANCE);
        if again < now {
            return Err(Refusal::Refused(format!("it came after its time: timeout_ack is {} s", letter.timeout_ack)));
        }
        if letter.kind == Kind::Stop {
            return self.take_stop(letter, &store, again).await;
        }
        let came = match letter.message_type {
            MessageType::Result => Came::Result(result(letter)?),
            _ => Came::Message(message(letter, again, from, store.longest_script())?),
        };
        let begun = || recording::of(self.sender(letter, &signer), letter);
        let doing = self.dispatcher.audit().begin(begun).map_err(|closed| Refusal::Full(format!("at the other side {closed}")))?;
        // Where the store fails, it comes again.
        let mut doing = doing.counted();
        let (received, made) = match &came {
            Came::Result(result) => (store.receive_result(result).await?, MadeJobs::default()),
            Came::Message(message) => store.receive_message(message).await?,
        };
        match received {
            Received::Stored => doing.end(|record| recording::made(record, &made)),
            _ => doing.give_up(),
        }
        match received {
            Received::Stored | Received::Duplicate => Ok(()),
            Received::Full(lack) => Err(Refusal::Full(format!("context {context} takes no more messages now: {lack}"))),
            Received::Crowded => {
                let why =
                    "takes no more messages now: it knows as many as it may, of this signer or of all, each until its timeout_ack is over";
                Err(Refusal::Full(format!("context {context} {why}")))
            }
            Received::Unknown => Err(Refusal::Refused("nobody waits for that result (any more)".into())),
            Received::Signer => Err(Refusal::Refused(format!("the runner of that job does not have the key {}", letter.public_key))),
        }
    }

    /// Whether a letter that came over a bus was sent to this node, and by another one: whoever has it in hand may give it to anybody.
    fn check_way(&self, letter: &Letter) -> Result<(), Refusal> {
        let own = self.key.public();
        match &letter.to {
            // Where several nodes have one Redis, the other one may fetch it when it comes again.
            Some(to) if *to != own => Err(Refusal::Full(format!("it is for the node {to}, and this one is {own}"))),
            // Its sender learns by that whom to name.
            None => Err(Refusal::Full(format!("it does not say which node it is for (to), and this one is {own}"))),
            Some(_) if letter.node == own || letter.public_key == own => {
                Err(Refusal::Refused("this node itself has sent it; other contexts of a server have the address here".into()))
            }
            Some(_) => Ok(()),
        }
    }

    /// Who sends a letter, by its signature.
    pub(super) fn sender(&self, letter: &Letter, signer: &Signer) -> Who {
        let key = &letter.public_key;
        match signer {
            Signer::Identity => Who::Signer(IdentityId(letter.caller_id)),
            Signer::Node if *key == self.key.public() => Who::Node("here".to_owned()),
            Signer::Node | Signer::Runner => Who::Node(self.trusted.get(key).map_or_else(|| key.to_string(), Name::to_string)),
        }
    }

    /// Whom a signature is of that is right, if that counts for this context.
    async fn signer(&self, letter: &Letter) -> Result<Signer, Refusal> {
        let key = &letter.public_key;
        if *key == self.key.public() {
            self.check_own(letter)?;
            return Ok(Signer::Node);
        }
        // It speaks for its callers.
        if self.trusted.contains_key(key) {
            return Ok(Signer::Node);
        }
        if letter.kind == Kind::Stop {
            return Err(Refusal::Refused(format!("the key {key} is not trusted here, and only a node stops jobs, those that it has sent")));
        }
        // Where a result is awaited the context does not sleep.
        let awaits = self.dispatcher.opened(letter.target_context).ok().filter(|_| letter.message_type == MessageType::Result);
        let is_asleep = letter.message_type == MessageType::Result && awaits.is_none();
        if let Some(store) = awaits {
            let asked = MessageKey { caller_id: letter.caller_id, message_id: letter.answers };
            let asked = store.message(asked).await?.filter(|asked| asked.nonce.as_ref() == Some(&letter.in_reply_to));
            match asked.as_ref().map(|asked| asked.runner_key.as_ref().or(asked.receiver_key.as_ref())) {
                Some(Some(right)) if right == key => return Ok(Signer::Runner),
                // It overtook the news that its message was stored.
                Some(None) => return Err(Refusal::Full("it is not known yet who has stored the job".into())),
                _ => {}
            }
        }
        let owner = match (key.of_identity(), self.dispatcher.opened(ContextId(0))) {
            // The caller that it names first: another program may have made that one.
            (Some(key), Ok(home)) if home.has_key(IdentityId(letter.caller_id), &key).await? => Some(IdentityId(letter.caller_id)),
            (Some(key), Ok(home)) => home.identity_with(&key).await?,
            (Some(_), Err(error)) => return Err(Refusal::Full(format!("whose key {key} is cannot be looked up now: {error}"))),
            (None, _) => None,
        };
        let Some(identity) = owner else {
            let why = format!("the key {key} is not trusted here: name its node in the setting nodes, or give an identity that key");
            // It may be about to be opened, when this server has just begun.
            return Err(if is_asleep { Refusal::Full(why) } else { Refusal::Refused(why) });
        };
        if identity.0 != letter.caller_id {
            return Err(Refusal::Refused(format!("it was signed by identity {identity}, and says that it is of {}", letter.caller_id)));
        }
        self.may_submit(identity, letter.target_context)?;
        Ok(Signer::Identity)
    }

    /// Whether what this node signed may be stored in the context that it is for. Before it was signed, its caller was asked about in the context that
    /// it comes from, and rights there are none in another one. A result only answers what that other one has sent.
    fn check_own(&self, letter: &Letter) -> Result<(), Refusal> {
        // Nor does it stop more than what it has sent.
        if letter.kind == Kind::Stop || letter.message_type == MessageType::Result || letter.context == letter.target_context {
            return Ok(());
        }
        Ok(self.may_submit(IdentityId(letter.caller_id), letter.target_context)?)
    }

    /// Whether an identity may submit jobs and messages in a context, or what it lacks.
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

/// Refuses what was signed by a clock that shows another time: for now, because it is right when that clock is, and a node signs anew each time that it
/// sends. An identity does not.
fn check_clock(letter: &Letter, now: Timestamp, signer: &Signer) -> Result<(), Refusal> {
    let (made, sent) = (seconds(letter.created_at), seconds(letter.sent_at));
    let is_ahead = |time: Timestamp| time.since(now) > TOLERANCE;
    let is_late = now.since(sent) > TOLERANCE && !matches!(signer, Signer::Identity);
    // How long it is known depends on when it was made, so nobody says that this is yet to come.
    let (what, time) = if is_ahead(sent) || is_late { ("signed", sent) } else { ("made", made) };
    if !is_late && !is_ahead(time) {
        return Ok(());
    }
    let (difference, word) = if is_late { (now.since(time), "later") } else { (time.since(now), "earlier") };
    let why = format!(
        "the clocks differ: it was {what} at {time}, and here it is {now}, {} s {word}; {} s are tolerated",
        difference.as_secs(),
        TOLERANCE.as_secs()
    );
    if matches!(signer, Signer::Identity) {
        return Err(Refusal::Refused(why));
    }
    tracing::warn!(nonce = %letter.nonce, key = %letter.public_key, "a message that came is not taken yet: {why}");
    Err(Refusal::Full(why))
}

/// A time as letters have it.
const fn seconds(seconds: i64) -> Timestamp {
    Timestamp::from_millis(seconds.saturating_mul(1000))
}

/// The fields of the hash of a letter.
fn fields(letter: &Letter) -> Vec<(&'static str, String)> {
    let mut fields = vec![
        ("message", letter.message.clone()),
        ("message_type", letter.message_type.to_string()),
        ("message_format_type", letter.message_format_type.to_string()),
        ("timeout", letter.timeout.to_string()),
        ("timeout_ack", letter.timeout_ack.to_string()),
        ("timeout_result", letter.timeout_result.to_string()),
        ("job", letter.job.clone()),
        ("logs", "[]".to_owned()),
        ("created_at", letter.created_at.to_string()),
        ("updated_at", letter.created_at.to_string()),
        ("status", if letter.message_type == MessageType::Job { "acknowledged" } else { "dispatched" }.to_owned()),
        ("target_context", letter.target_context.to_string()),
        ("topic", letter.topic.clone()),
        ("signature", letter.signature.clone()),
        ("public_key", letter.public_key.to_string()),
    ];
    if !letter.in_reply_to.is_empty() {
        fields.extend([("in_reply_to", letter.in_reply_to.clone()), ("answers", letter.answers.to_string())]);
    }
    fields
}

fn message(letter: &Letter, again: Timestamp, from: Option<&str>, longest_script: usize) -> Result<NewMessage, String> {
    let jobs = match letter.message_type {
        MessageType::Job => runner_job::read(&letter.job, letter.caller_id, letter.message_id, longest_script)?,
        _ => Vec::new(),
    };
    let mut fields = fields(letter);
    let answer = from.map_or_else(|| format!("box:{}", letter.node), str::to_owned);
    if from != Some(HERE) {
        fields.push(("reply_node", letter.node.to_string()));
    }
    fields.extend([("reply_address", answer), ("reply_context", letter.context.to_string())]);
    let nonce = letter.nonce.as_str().to_owned();
    let (signer, caller, number) = (letter.public_key.clone(), letter.caller_id, letter.message_id);
    Ok(NewMessage { nonce, signer, again, caller, number, fields, jobs })
}

fn result(letter: &Letter) -> Result<NewResult, String> {
    let said: Said = serde_json::from_str(&letter.message).map_err(|error| format!("message: is no result of a job: {error}"))?;
    let end = if said.status == "finished" {
        FarEnd::Finished(said.output, if said.format.as_deref() == Some("json") { "json" } else { "text" })
    } else {
        let text = hero_model::excerpt(&said.error, LONGEST_ERROR).into_owned();
        let mut error = JobError::new(ErrorKind::parse(said.kind.as_deref(), &said.error), text);
        (error.line, error.column) = (said.line, said.column);
        FarEnd::Failed(error)
    };
    Ok(NewResult {
        nonce: letter.nonce.as_str().to_owned(),
        caller: letter.caller_id,
        number: letter.answers,
        awaited: letter.in_reply_to.clone(),
        signer: letter.public_key.clone(),
        end,
        fields: fields(letter),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_does_not_pass_is_refused_for_good() {
        let is_final = |error: dispatch::Error| matches!(Refusal::from(error), Refusal::Refused(_));
        assert!(is_final(dispatch::Error::NoContext(ContextId(7))) && is_final(dispatch::Error::Deleting(ContextId(7))));
        assert!(!is_final(dispatch::Error::of_store(store::Error::Closed)) && !is_final(dispatch::Error::many_contexts()));
    }
}
