use std::collections::{BTreeSet, HashMap};

use super::codec::Text;
use super::contexts::seconds;
use super::{Error, Store};
use crate::model::{
    Address, ContextId, IdentityId, Input, JobId, Json, Message, MessageKey, MessageList, PublicKey, ScriptType, SignerKey, Timestamp,
};

/// How many nodes are looked at for what they are sending.
const NODES: usize = 16;

/// A message as its hash has it, with what is for the supervisor alone.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredMessage {
    /// What everybody may see.
    pub shown: Message,
    /// Its jobs, exactly as they stand there.
    pub job: String,
    /// Tells it from every other.
    pub nonce: Option<String>,
    /// What its sender signed it with.
    pub signature: Option<String>,
    /// The nonce of the message that it answers.
    pub in_reply_to: Option<String>,
    /// The job of this context that is away with it.
    pub away: Option<JobId>,
    /// The key that its result is to be signed with.
    pub runner_key: Option<SignerKey>,
    /// The key of the node that has acknowledged it.
    pub receiver_key: Option<SignerKey>,
}

/// What the other side needs of a job that is away.
#[derive(Debug, Clone, PartialEq)]
pub struct AwayJob {
    /// Its script.
    pub script: String,
    /// The type of that.
    pub script_type: ScriptType,
    /// What the script sees as `args`, as JSON.
    pub args: Option<String>,
    /// What it sees as `env`, as JSON.
    pub env_vars: Option<String>,
    /// How long it may take, in seconds.
    pub timeout: Option<f64>,
    /// The number by which the coordinator knows it, if it does: that of `job:{caller}:{n}`.
    pub number: Option<u32>,
}

impl Store {
    /// A message, if there is one of this name. Other programs may have written it, too.
    pub async fn message(&self, key: MessageKey) -> Result<Option<StoredMessage>, Error> {
        Ok(self.messages(&[key]).await?.pop().flatten())
    }

    /// The messages of these names, in their order.
    pub async fn messages(&self, keys: &[MessageKey]) -> Result<Vec<Option<StoredMessage>>, Error> {
        if keys.is_empty() {
            return Ok(Vec::new());
        }
        let hashes = self.hashes(keys.iter().map(|key| self.keys().message(key.caller_id, key.message_id))).await?;
        Ok(keys.iter().zip(hashes).map(|(key, fields)| stored(*key, self.context(), &fields)).collect())
    }

    /// The names of messages in a list, those that are taken first first, from a place on.
    pub async fn listed_messages(&self, list: MessageList, from: usize, limit: usize) -> Result<Vec<MessageKey>, Error> {
        let (mut names, own) = match list {
            MessageList::In => (Vec::new(), self.keys().msg_in()),
            MessageList::Out if from == 0 => (self.being_sent().await?, self.keys().msg_out()),
            MessageList::Out => (Vec::new(), self.keys().msg_out()),
        };
        names.extend(self.part_of(&own, from, limit).await?);
        Ok(names)
    }

    async fn being_sent(&self) -> Result<Vec<MessageKey>, Error> {
        let nodes: Vec<Text> = self.0.commands.call(redis::cmd("ZRANGE").arg(self.keys().nodes()).arg(0).arg(NODES - 1)).await?;
        let mut names = Vec::new();
        for node in nodes.into_iter().filter_map(|node| node.0) {
            names.extend(self.part_of(&self.keys().sending(&node), 0, usize::from(u16::MAX)).await?);
        }
        Ok(names)
    }

    /// The elements of a list that are names of messages, from the right.
    async fn part_of(&self, list: &str, from: usize, limit: usize) -> Result<Vec<MessageKey>, Error> {
        let place = |at: usize| -1 - i64::try_from(at).unwrap_or(i64::MAX - 1);
        let mut range = redis::cmd("LRANGE");
        range.arg(list).arg(place(from + limit.max(1) - 1)).arg(place(from));
        let elements: Vec<Text> = self.0.commands.call(&range).await?;
        Ok(elements.iter().rev().filter_map(Text::parse).collect())
    }

    /// Where messages went whose result is awaited, each place once with the context there.
    pub async fn awaited_places(&self, most: usize) -> Result<BTreeSet<(Address, ContextId)>, Error> {
        let mut range = redis::cmd("ZRANGE");
        range.arg(self.keys().open_messages()).arg(0).arg(most.saturating_sub(1));
        let names: Vec<Text> = self.0.commands.call(&range).await?;
        let names: Vec<MessageKey> = names.iter().filter_map(Text::parse).collect();
        let found = self.messages(&names).await?;
        Ok(found.into_iter().flatten().filter_map(|one| Some((one.shown.address?, one.shown.target_context))).collect())
    }

    /// Completes what the hash of a message has, if there is one.
    pub async fn complete_message(&self, key: MessageKey, fields: &[(&str, &str)]) -> Result<(), Error> {
        let hash = self.keys().message(key.caller_id, key.message_id);
        let there: bool = self.0.commands.call(redis::cmd("EXISTS").arg(&hash)).await?;
        if !there {
            return Ok(());
        }
        let mut set = redis::cmd("HSET");
        set.arg(&hash);
        for (field, value) in fields {
            set.arg(*field).arg(*value);
        }
        self.0.commands.call::<Text>(&set).await.map(drop)
    }

    /// What the other side needs of a job that is away; nothing, if it is gone.
    pub async fn away_job(&self, job: &JobId) -> Result<Option<AwayJob>, Error> {
        let mut get = redis::cmd("HMGET");
        get.arg(self.keys().job(job)).arg(&["script", "script_type", "args", "env_vars", "timeout", "dialect_key"]);
        let fields: Vec<Text> = self.0.commands.call(&get).await?;
        let Ok([script, script_type, args, env_vars, timeout, key]) = <[Text; 6]>::try_from(fields) else { return Ok(None) };
        let (Some(script), Some(script_type)) = (script.0, script_type.parse()) else { return Ok(None) };
        let number = key.0.as_deref().and_then(|key| key.rsplit(':').next()?.parse().ok());
        Ok(Some(AwayJob { script, script_type, args: args.some(), env_vars: env_vars.some(), timeout: timeout.parse(), number }))
    }

    /// The identity that has a public key, if one has. For the store of context 0.
    pub async fn identity_of_key(&self, key: &PublicKey) -> Result<Option<IdentityId>, Error> {
        let number: Text = self.0.commands.call(redis::cmd("HGET").arg(self.keys().public_keys()).arg(key.as_str())).await?;
        Ok(number.parse())
    }

    /// What the prerequisites of a job gave that came by a message, as that says; nothing of another job.
    pub async fn far_inputs(&self, job: &JobId) -> Result<Option<Vec<Input>>, Error> {
        let inputs: Text = self.0.commands.call(redis::cmd("HGET").arg(self.keys().job(job)).arg("inputs")).await?;
        Ok(inputs.some().and_then(|inputs| serde_json::from_str(&inputs).ok()))
    }
}

/// A message as its hash has it. What cannot be read counts as not there.
fn stored(key: MessageKey, context: ContextId, fields: &HashMap<String, Text>) -> Option<StoredMessage> {
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
        in_reply_to: text("in_reply_to").map(str::to_owned),
        away: text("away").and_then(|id| id.parse().ok()),
        receiver_key: text("receiver_key").and_then(|key| key.parse().ok()),
        runner_key: text("runner_key").and_then(|key| key.parse().ok()),
    })
}
