use std::collections::{BTreeSet, HashMap};

use super::codec::Text;
use super::contexts::seconds;
use super::{Error, Store};
use crate::model::{
    Address, ContextId, IdentityId, Input, JobId, Json, Message, MessageKey, MessageList, MessageStatus, PublicKey, ScriptType, SignerKey,
    Timestamp,
};

/// How many nodes are looked at for what they are sending.
const NODES: usize = 16;
/// How many messages are looked at for where their results come from, and how many of those by one pipeline.
const MOST_AWAITED: usize = 10_000;
const TOGETHER: usize = 1000;
/// How long a node may be silent before others send its messages, ms: as in `tend_messages.lua`.
const SILENT: i64 = 10_000;

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
    /// The key of the node that it is for, where whoever made it says that.
    pub to: Option<SignerKey>,
    /// The nonce of the message that it answers.
    pub in_reply_to: Option<String>,
    /// The job of this context that is away with it.
    pub away: Option<JobId>,
    /// The key that its result is to be signed with.
    pub runner_key: Option<SignerKey>,
    /// The key of the node that has acknowledged it.
    pub receiver_key: Option<SignerKey>,
    /// When the job that was away with it ended here, so that the other side is to be told.
    pub stopped_at: Option<Timestamp>,
}

/// Names of messages in a list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MessageNames {
    /// The names.
    pub names: Vec<MessageKey>,
    /// How many elements were looked at: other programs may have put something there that is no name.
    pub looked_at: usize,
}

impl MessageNames {
    fn add(&mut self, elements: &[Text]) {
        self.looked_at += elements.len();
        self.names.extend(elements.iter().filter_map(Text::parse::<MessageKey>));
    }
}

/// Where names of messages stand.
enum Names {
    List(String),
    Set(String),
}

/// Elements that were read; nothing, if what was read is of another type.
fn elements_in(read: Result<Vec<Text>, Error>) -> Result<Option<Vec<Text>>, Error> {
    match read {
        Err(Error::Redis(error)) if error.code() == Some("WRONGTYPE") => Ok(None),
        read => read.map(Some),
    }
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

    /// The names of messages in a list, those that are taken first first, from a place on. Nothing: its key is no list, because somebody else
    /// wrote there.
    pub async fn listed_messages(&self, list: MessageList, from: usize, limit: usize) -> Result<Option<MessageNames>, Error> {
        let (mut listed, mut from) = (MessageNames::default(), from);
        for place in self.places_of(list).await? {
            let missing = limit - listed.looked_at;
            if missing == 0 {
                break;
            }
            let Some(elements) = self.part_of(&place, from, missing).await? else { return Ok(None) };
            if elements.is_empty() {
                from = from.saturating_sub(self.length_of(&place).await?);
            } else {
                from = 0;
                listed.add(&elements);
            }
        }
        Ok(Some(listed))
    }

    /// The names of messages of a status, the one that got it last first, at most `limit`; and where the next page begins, if this one is full. `from` is
    /// when the last one of the page before got it, and how many that got it then were shown.
    pub async fn messages_of(
        &self,
        status: MessageStatus,
        from: Option<(i64, usize)>,
        limit: usize,
    ) -> Result<(Vec<MessageKey>, Option<(i64, usize)>), Error> {
        let (highest, skip) = from.map_or_else(|| ("+inf".to_owned(), 0), |(ms, skip)| (ms.to_string(), skip));
        let mut range = redis::cmd("ZRANGE");
        range.arg(self.keys().messages_of(status)).arg(highest).arg("-inf").arg("BYSCORE").arg("REV");
        range.arg("LIMIT").arg(skip).arg(limit).arg("WITHSCORES");
        let entries: Vec<(Text, f64)> = match self.0.commands.call(&range).await {
            // Another program has made something else of it.
            Err(Error::Redis(error)) if error.code() == Some("WRONGTYPE") => Vec::new(),
            entries => entries?,
        };
        let next = entries.last().filter(|_| entries.len() >= limit).map(|(_, last)| {
            let same = entries.iter().filter(|(_, ms)| ms == last).count();
            let ms = *last as i64;
            (ms, same + from.filter(|(before, _)| *before == ms).map_or(0, |(_, skip)| skip))
        });
        Ok((entries.iter().filter_map(|(name, _)| name.parse()).collect(), next))
    }

    /// Takes messages that are gone out of the list of a status.
    pub async fn forget_messages(&self, status: MessageStatus, gone: &[MessageKey]) -> Result<(), Error> {
        if gone.is_empty() {
            return Ok(());
        }
        let names: Vec<String> = gone.iter().map(ToString::to_string).collect();
        self.0.commands.call::<u64>(redis::cmd("ZREM").arg(self.keys().messages_of(status)).arg(names)).await.map(drop)
    }

    /// The names of messages that came last, the last one first.
    pub async fn newest_messages(&self, limit: usize) -> Result<Option<MessageNames>, Error> {
        let mut range = redis::cmd("LRANGE");
        range.arg(self.keys().msg_in()).arg(0).arg(limit.max(1) - 1);
        let mut listed = MessageNames::default();
        Ok(elements_in(self.0.commands.call(&range).await)?.map(|elements| {
            listed.add(&elements);
            listed
        }))
    }

    /// Where the names in a list stand, in the order in which they are taken.
    async fn places_of(&self, list: MessageList) -> Result<Vec<Names>, Error> {
        let keys = self.keys();
        if list == MessageList::In {
            return Ok(vec![Names::List(keys.msg_in())]);
        }
        let nodes: Vec<Text> = self.0.commands.call(redis::cmd("ZRANGE").arg(keys.nodes()).arg(0).arg(NODES - 1)).await?;
        let mut places: Vec<Names> = nodes.into_iter().filter_map(|node| node.0).map(|node| Names::List(keys.sending(&node))).collect();
        places.extend([Names::Set(keys.resting()), Names::List(keys.msg_out())]);
        Ok(places)
    }

    /// The elements at a place, those that are taken first first.
    async fn part_of(&self, names: &Names, from: usize, limit: usize) -> Result<Option<Vec<Text>>, Error> {
        let (range, is_turned) = match names {
            // They are taken from the right.
            Names::List(key) => {
                let place = |at: usize| -1 - i64::try_from(at).unwrap_or(i64::MAX - 1);
                let mut range = redis::cmd("LRANGE");
                range.arg(key).arg(place(from.saturating_add(limit.max(1) - 1))).arg(place(from));
                (range, true)
            }
            Names::Set(key) => {
                let mut range = redis::cmd("ZRANGE");
                range.arg(key).arg(from).arg(from.saturating_add(limit.max(1) - 1));
                (range, false)
            }
        };
        let mut elements = elements_in(self.0.commands.call(&range).await)?;
        if let Some(elements) = elements.as_mut().filter(|_| is_turned) {
            elements.reverse();
        }
        Ok(elements)
    }

    async fn length_of(&self, names: &Names) -> Result<usize, Error> {
        match names {
            Names::List(key) => self.0.commands.call(redis::cmd("LLEN").arg(key)).await,
            Names::Set(key) => self.0.commands.call(redis::cmd("ZCARD").arg(key)).await,
        }
    }

    /// Where messages went whose result is awaited, each place once with the context there.
    pub async fn awaited_places(&self) -> Result<BTreeSet<(Address, ContextId)>, Error> {
        let mut range = redis::cmd("ZRANGE");
        range.arg(self.keys().open_messages()).arg(0).arg(MOST_AWAITED - 1);
        let names: Vec<Text> = self.0.commands.call(&range).await?;
        let names: Vec<MessageKey> = names.iter().filter_map(Text::parse).collect();
        let mut places = BTreeSet::new();
        for part in names.chunks(TOGETHER) {
            let mut pipeline = redis::pipe();
            for name in part {
                pipeline.cmd("HMGET").arg(self.keys().message(name.caller_id, name.message_id)).arg(&["address", "target_context"]);
            }
            pipeline.ignore_errors();
            let found = self.0.commands.each::<Vec<Text>>(&pipeline).await?;
            places.extend(found.into_iter().filter_map(Result::ok).filter_map(|fields| {
                let [address, context] = fields.as_slice() else { return None };
                Some((address.parse()?, ContextId(context.parse().unwrap_or(0))))
            }));
        }
        Ok(places)
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

    /// The message that a job is away with, if it is.
    pub async fn message_of_job(&self, job: &JobId) -> Result<Option<MessageKey>, Error> {
        let name: Text = self.0.commands.call(redis::cmd("HGET").arg(self.keys().job(job)).arg("away")).await?;
        Ok(name.parse())
    }

    /// The hands of servers that have sent messages of this context a moment ago: the name of the node, `-`, and what tells its servers apart.
    pub async fn sending_nodes(&self) -> Result<Vec<String>, Error> {
        let since = self.clock().now().as_millis() - SILENT;
        let names: Vec<Text> =
            self.0.commands.call(redis::cmd("ZRANGE").arg(self.keys().nodes()).arg(since).arg("+inf").arg("BYSCORE")).await?;
        Ok(names.into_iter().filter_map(|name| name.0).collect())
    }

    /// Leaves what a server has in hand to the next one that looks, which may be itself.
    pub async fn leave_messages(&self, hand: &str) -> Result<(), Error> {
        self.0.commands.call(redis::cmd("ZADD").arg(self.keys().nodes()).arg("XX").arg(0).arg(hand)).await
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
        to: text("to").and_then(|key| key.parse().ok()),
        in_reply_to: text("in_reply_to").map(str::to_owned),
        away: text("away").and_then(|id| id.parse().ok()),
        receiver_key: text("receiver_key").and_then(|key| key.parse().ok()),
        runner_key: text("runner_key").and_then(|key| key.parse().ok()),
        stopped_at: seconds(fields.get("stopped_at")),
    })
}
