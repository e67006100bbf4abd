//! Messages, as they are stored.

pub(crate) mod cursor;
pub(crate) mod lists;
pub(crate) mod mailboxes;

use std::collections::BTreeSet;

use super::Error;
use super::contexts::seconds;
use super::value::{Fields, Text};
use crate::views::Messages;
use hero_model::{Address, ContextId, Input, JobId, Json, Message, MessageKey, RunnerId, ScriptType, SignerKey, Timestamp};
use hero_service::away;

/// The most messages that are read to find the places of awaited results, and (below) the most in one pipeline.
const MOST_AWAITED: usize = 10_000;
const MESSAGES_PER_PIPELINE: usize = 1000;
/// The time after which other nodes send the messages of a silent node, in ms, as in `tend_messages.lua`.
const SILENT_AFTER_MILLIS: i64 = 10_000;

/// A message as it is stored in its hash, with the fields that only the message loops use.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredMessage {
    /// The public part.
    pub shown: Message,
    /// Its jobs, in exactly the stored text.
    pub job: String,
    /// The nonce, which identifies it.
    pub nonce: Option<String>,
    /// The signature of its sender.
    pub signature: Option<String>,
    /// The key of the node that it is for, if its creator named one.
    pub to: Option<SignerKey>,
    /// The nonce of the message that it answers.
    pub in_reply_to: Option<String>,
    /// The job of this context that was sent away in it.
    pub away: Option<JobId>,
    /// The runner that it was given to, of all those with the script type that its topic names.
    pub runner: Option<RunnerId>,
    /// The key that must sign its result.
    pub runner_key: Option<SignerKey>,
    /// The key of the node that acknowledged it.
    pub receiver_key: Option<SignerKey>,
    /// The time when its job that is away ended here. The other side is to be told then.
    pub stopped_at: Option<Timestamp>,
}

/// The data that the other side needs to run a job that is away.
#[derive(Debug, Clone, PartialEq)]
pub struct AwayJob {
    /// Its script.
    pub script: String,
    /// The script type.
    pub script_type: ScriptType,
    /// The JSON that the script sees as `args`.
    pub args: Option<String>,
    /// The JSON that it sees as `env`.
    pub env_vars: Option<String>,
    /// The time limit, in seconds.
    pub timeout: Option<f64>,
    /// The number by which the coordinator knows it, if it does: the one in `job:{caller}:{n}`.
    pub number: Option<u32>,
}

impl Messages<'_> {
    /// Counts the runners with jobs that were stopped while they were away and whose other side does not know it yet. A list that another
    /// program has replaced counts as empty.
    pub async fn untold_stops(self) -> Result<u64, Error> {
        self.0.unspoilt(self.0.commands.call(redis::cmd("ZCARD").arg(self.0.keys.stops())).await)
    }

    /// Returns the message with this name, if there is one. Other programs may have written it, too.
    pub async fn get(self, key: MessageKey) -> Result<Option<StoredMessage>, Error> {
        let fields = self.0.hash(&self.0.keys.message(key.caller_id, key.message_id)).await?;
        Ok(self.read_all(&[key], vec![fields]).await?.pop().flatten())
    }

    /// Returns the messages with these names, in the same order. One that another program has spoilt counts as missing, which is logged.
    pub async fn get_all(self, keys: &[MessageKey]) -> Result<Vec<Option<StoredMessage>>, Error> {
        let hashes = self.0.hashes(keys.iter().map(|key| self.0.keys.message(key.caller_id, key.message_id))).await?;
        self.read_all(keys, hashes).await
    }

    /// Reads the messages with these names from their hashes. Masking takes long if their jobs have secrets.
    async fn read_all(self, keys: &[MessageKey], hashes: Vec<Fields>) -> Result<Vec<Option<StoredMessage>>, Error> {
        let (keys, context, bytes) =
            (keys.to_vec(), self.0.keys.context(), hashes.iter().filter_map(|fields| Some(fields.get("job")?.bytes())).sum());
        let read = move || keys.iter().zip(hashes).map(|(key, fields)| stored(*key, context, &fields)).collect();
        away(bytes, read).await.ok_or(Error::Closed)
    }

    /// Returns the addresses and contexts from which results are awaited, each pair once.
    pub async fn awaited_places(self) -> Result<BTreeSet<(Address, ContextId)>, Error> {
        let mut range = redis::cmd("ZRANGE");
        range.arg(self.0.keys.open_messages()).arg(0).arg(MOST_AWAITED - 1);
        let names: Vec<Text> = self.0.unspoilt(self.0.commands.call(&range).await)?;
        let names: Vec<MessageKey> = names.iter().filter_map(Text::parse).collect();
        let mut places = BTreeSet::new();
        for part in names.chunks(MESSAGES_PER_PIPELINE) {
            let keys: Vec<String> = part.iter().map(|name| self.0.keys.message(name.caller_id, name.message_id)).collect();
            let mut pipeline = redis::pipe();
            for key in &keys {
                pipeline.cmd("HMGET").arg(key).arg(&["address", "target_context"]);
            }
            let found = self.0.each_unspoilt::<Vec<Text>>(&keys, &mut pipeline).await?;
            places.extend(found.into_iter().filter_map(|fields| {
                let [address, context] = fields.as_slice() else { return None };
                Some((address.parse()?, ContextId(context.parse().unwrap_or(0))))
            }));
        }
        Ok(places)
    }

    /// Returns the data that the other side needs of a job that is away; nothing if the job is gone.
    pub async fn away_job(self, job: &JobId) -> Result<Option<AwayJob>, Error> {
        let mut get = redis::cmd("HMGET");
        get.arg(self.0.keys.job(job)).arg(&["script", "script_type", "args", "env_vars", "timeout", "dialect_key"]);
        let fields: Vec<Text> = self.0.commands.call(&get).await?;
        let Ok([script, script_type, args, env_vars, timeout, key]) = <[Text; 6]>::try_from(fields) else { return Ok(None) };
        let (Some(script), Some(script_type)) = (script.0, script_type.parse()) else { return Ok(None) };
        let number = key.0.as_deref().and_then(|key| key.rsplit(':').next()?.parse().ok());
        Ok(Some(AwayJob { script, script_type, args: args.some(), env_vars: env_vars.some(), timeout: timeout.parse(), number }))
    }

    /// Returns the message with which a job is away, if it is.
    pub async fn of_job(self, job: &JobId) -> Result<Option<MessageKey>, Error> {
        let name: Text = self.0.commands.call(redis::cmd("HGET").arg(self.0.keys.job(job)).arg("away")).await?;
        Ok(name.parse())
    }

    /// Returns the names of servers that sent messages of this context just now: the name of the node, `-`, and a part that tells its
    /// servers apart.
    pub async fn sending_nodes(self) -> Result<Vec<String>, Error> {
        let since = self.0.clock.now().as_millis() - SILENT_AFTER_MILLIS;
        let mut range = redis::cmd("ZRANGE");
        range.arg(self.0.keys.nodes()).arg(since).arg("+inf").arg("BYSCORE");
        let names: Vec<Text> = self.0.unspoilt(self.0.commands.call(&range).await)?;
        Ok(names.into_iter().filter_map(|name| name.0).collect())
    }

    /// Leaves the messages that a server was sending to the next server that checks, which may be the same one.
    pub async fn leave(self, sender: &str) -> Result<(), Error> {
        self.0.commands.call(redis::cmd("ZADD").arg(self.0.keys.nodes()).arg("XX").arg(0).arg(sender)).await
    }

    /// Returns the results of the prerequisites of a job that came in a message, as the message has them; nothing for any other job.
    pub async fn far_inputs(self, job: &JobId) -> Result<Option<Vec<Input>>, Error> {
        let key = self.0.keys.job(job);
        let inputs: Text = self.0.commands.call(redis::cmd("HGET").arg(&key).arg("inputs")).await?;
        let spoilt = |_| Error::spoilt(key, "has inputs that are no JSON as envelopes have it");
        inputs.some().map(|inputs| serde_json::from_str(&inputs).map_err(spoilt)).transpose()
    }
}

/// Reads a message from its hash. Fields that cannot be read count as missing.
fn stored(key: MessageKey, context: ContextId, fields: &Fields) -> Option<StoredMessage> {
    if fields.is_empty() {
        return None;
    }
    let text = |name: &str| fields.get(name).and_then(|text| text.0.as_deref()).filter(|text| !text.is_empty());
    let number = |name: &str, default: u32| text(name).and_then(|text| text.parse().ok()).unwrap_or(default);
    let word = |name: &str| text(name).unwrap_or_default();
    let time = |name| seconds(fields.get(name)).unwrap_or(Timestamp::from_millis(0));
    let job = text("job").unwrap_or("[]").to_owned();
    let jobs: Vec<Json> = serde_json::from_str(&job).unwrap_or_default();
    let shown = Message {
        caller_id: key.caller_id,
        message_id: key.message_id,
        context_id: context,
        message: word("message").to_owned(),
        message_type: word("message_type").parse().unwrap_or_default(),
        message_format_type: word("message_format_type").parse().unwrap_or_default(),
        timeout: number("timeout", 3600),
        timeout_ack: number("timeout_ack", 300),
        timeout_result: number("timeout_result", 3600),
        job: jobs.into_iter().map(Json::without_secrets).collect(),
        logs: text("logs").and_then(|logs| serde_json::from_str(logs).ok()).unwrap_or_default(),
        created_at: time("created_at"),
        updated_at: time("updated_at"),
        status: word("status").parse().unwrap_or_default(),
        target_context: ContextId(number("target_context", 0)),
        topic: text("topic").and_then(|topic| topic.parse().ok()),
        address: text("address").and_then(|address| address.parse().ok()),
        public_key: text("public_key").and_then(|key| key.parse().ok()),
        answers: text("answers").and_then(|number| number.parse().ok()),
        error: text("error").map(str::to_owned),
    };
    Some(StoredMessage {
        shown,
        job,
        nonce: text("nonce").map(str::to_owned),
        signature: text("signature").map(str::to_owned),
        to: text("to").and_then(|key| key.parse().ok()),
        in_reply_to: text("in_reply_to").map(str::to_owned),
        away: text("away").and_then(|id| id.parse().ok()),
        receiver_key: text("receiver_key").and_then(|key| key.parse().ok()),
        runner: text("runner").and_then(|id| id.parse().ok()),
        runner_key: text("runner_key").and_then(|key| key.parse().ok()),
        stopped_at: seconds(fields.get("stopped_at")),
    })
}
