//! What came over a bus: who signed it, whether that counts here, and what is stored of it.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Deserialize;

use super::letter::{Letter, Outcome, Receipt};
use super::signature::{NodeKey, is_right};
use super::{recording, runner_job};
use crate::access::Authority;
use crate::audit::Who;
use crate::dispatch::Dispatcher;
use crate::model::{ContextId, ErrorKind, IdentityId, JobError, MessageKey, MessageType, Name, Role, SignerKey, Timestamp};
use crate::store::{FarEnd, MadeJobs, NewMessage, NewResult, Received, Store};

/// How far the clocks of two nodes may be from each other.
pub(super) const TOLERANCE: Duration = Duration::from_secs(120);
/// No message lives longer: until then it is known that it came.
const LONGEST_LIFE: u32 = 30 * 24 * 3600;
/// The longest text of a job's error that is taken over.
const LONGEST_ERROR: usize = 64 << 10;

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
enum Signer {
    /// A node that is trusted here.
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
enum Refusal {
    Refused(String),
    Full(String),
}

impl From<String> for Refusal {
    fn from(why: String) -> Self {
        Self::Refused(why)
    }
}

impl From<crate::store::Error> for Refusal {
    fn from(error: crate::store::Error) -> Self {
        tracing::warn!(%error, "a message that came could not be stored; it comes again");
        Self::Full("the store of the other side is unavailable".into())
    }
}

impl Inbound {
    /// Takes a letter as it came. `from` is where an answer goes to.
    pub(super) async fn take(&self, id: &str, text: &str, from: Option<&str>) -> Receipt {
        let letter = match serde_json::from_str::<Letter>(text) {
            Ok(letter) => letter,
            Err(error) => {
                let nonce = id.parse().unwrap_or_else(|_| Name::default_group());
                let text = format!("it is no letter of hero: {error}");
                return Receipt { nonce, sent_at: i64::MAX, outcome: Outcome::Refused, text, node: self.key.public() };
            }
        };
        let (outcome, text) = match self.accept(&letter, from).await {
            Ok(()) => (Outcome::Stored, String::new()),
            Err(Refusal::Full(why)) => (Outcome::Full, why),
            Err(Refusal::Refused(why)) => {
                self.dispatcher.audit().refusal(|| recording::refused(&letter));
                tracing::warn!(nonce = %letter.nonce, key = %letter.public_key, "a message that came was refused: {why}");
                (Outcome::Refused, why)
            }
        };
        Receipt { nonce: letter.nonce, sent_at: letter.sent_at, outcome, text, node: self.key.public() }
    }

    async fn accept(&self, letter: &Letter, from: Option<&str>) -> Result<(), Refusal> {
        let context = letter.target_context;
        let store = self.dispatcher.store(context).await.map_err(|error| error.to_string())?;
        if !is_right(letter) {
            return Err(Refusal::Refused(format!("the signature is not that of {} over this message", letter.public_key)));
        }
        let signer = self.signer(letter, &store).await?;
        let now = store.clock().now();
        check_clock(letter, now, &signer)?;
        let life = letter.timeout_ack.min(LONGEST_LIFE);
        let again = Timestamp::from_millis(letter.created_at.saturating_mul(1000)).plus(Duration::from_secs(life.into()) + 2 * TOLERANCE);
        if again < now {
            return Err(Refusal::Refused(format!("it came after its time: timeout_ack is {} s", letter.timeout_ack)));
        }
        let came = match letter.message_type {
            MessageType::Result => Came::Result(result(letter, again)?),
            _ => Came::Message(message(letter, again, from)?),
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
            Received::Full => Err(Refusal::Full(format!("context {context} takes no more messages: msg_in or the queue of a job is full"))),
            Received::Unknown => Err(Refusal::Refused("nobody waits for that result (any more)".into())),
            Received::Signer => Err(Refusal::Refused(format!("the runner of that job does not have the key {}", letter.public_key))),
        }
    }

    /// Who sends a letter, by its signature.
    fn sender(&self, letter: &Letter, signer: &Signer) -> Who {
        let key = &letter.public_key;
        match signer {
            Signer::Identity => Who::Signer(IdentityId(letter.caller_id)),
            Signer::Node if *key == self.key.public() => Who::Node("here".to_owned()),
            Signer::Node | Signer::Runner => Who::Node(self.trusted.get(key).map_or_else(|| key.to_string(), Name::to_string)),
        }
    }

    /// Whom a signature is of that is right, if that counts for this context.
    async fn signer(&self, letter: &Letter, store: &Store) -> Result<Signer, Refusal> {
        let key = &letter.public_key;
        if *key == self.key.public() || self.trusted.contains_key(key) {
            return Ok(Signer::Node);
        }
        if letter.message_type == MessageType::Result {
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
            (Some(key), Ok(home)) => home.identity_of_key(&key).await?,
            _ => None,
        };
        let Some(identity) = owner else {
            let why = format!("the key {key} is not trusted here: name its node in the setting nodes, or give an identity that key");
            return Err(Refusal::Refused(why));
        };
        if identity.0 != letter.caller_id {
            return Err(Refusal::Refused(format!("it was signed by identity {identity}, and says that it is of {}", letter.caller_id)));
        }
        let context = store.context();
        let may = |authority: &Authority| [Role::Admin, Role::Caller].into_iter().any(|role| authority.has_role(identity, context, role));
        if !self.authority.as_ref().is_none_or(may) {
            return Err(Refusal::Refused(format!("identity {identity} needs to be admin or caller in context {context}")));
        }
        Ok(Signer::Identity)
    }
}

/// Refuses what was signed by a clock that shows another time.
fn check_clock(letter: &Letter, now: Timestamp, signer: &Signer) -> Result<(), String> {
    let sent = Timestamp::from_millis(letter.sent_at.saturating_mul(1000));
    let (ahead, behind) = (sent.since(now), now.since(sent));
    let is_late = behind > TOLERANCE && !matches!(signer, Signer::Identity);
    if ahead <= TOLERANCE && !is_late {
        return Ok(());
    }
    Err(format!(
        "the clocks differ: it was signed at {sent}, and here it is {now}, {} s {}; {} s are tolerated",
        ahead.max(behind).as_secs(),
        if ahead > TOLERANCE { "earlier" } else { "later" },
        TOLERANCE.as_secs()
    ))
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

fn message(letter: &Letter, again: Timestamp, from: Option<&str>) -> Result<NewMessage, String> {
    let jobs = match letter.message_type {
        MessageType::Job => runner_job::read(&letter.job, letter.caller_id, letter.message_id)?,
        _ => Vec::new(),
    };
    let mut fields = fields(letter);
    let answer = from.map_or_else(|| format!("box:{}", letter.node), str::to_owned);
    fields.extend([("reply_address", answer), ("reply_context", letter.context.to_string())]);
    let nonce = letter.nonce.as_str().to_owned();
    Ok(NewMessage { nonce, again, caller: letter.caller_id, number: letter.message_id, fields, jobs })
}

fn result(letter: &Letter, again: Timestamp) -> Result<NewResult, String> {
    let said: Said = serde_json::from_str(&letter.message).map_err(|error| format!("message: is no result of a job: {error}"))?;
    let end = if said.status == "finished" {
        FarEnd::Finished(said.output, if said.format.as_deref() == Some("json") { "json" } else { "text" })
    } else {
        let text = crate::model::excerpt(&said.error, LONGEST_ERROR).into_owned();
        let mut error = JobError::new(ErrorKind::parse(said.kind.as_deref(), &said.error), text);
        (error.line, error.column) = (said.line, said.column);
        FarEnd::Failed(error)
    };
    Ok(NewResult {
        nonce: letter.nonce.as_str().to_owned(),
        again,
        caller: letter.caller_id,
        number: letter.answers,
        awaited: letter.in_reply_to.clone(),
        signer: letter.public_key.clone(),
        end,
        fields: fields(letter),
    })
}
