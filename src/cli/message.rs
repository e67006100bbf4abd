//! `hero message …`: messages between contexts and nodes.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::{Args, Subcommand};
use serde_json::json;
use serde_json::value::RawValue;

use super::global::Global;
use super::object::InContext;
use super::output::{self, Line, Style};
use crate::cli::input::paging::{Paging, note_more};
use crate::cli::input::script::name;
use crate::cli::output::local_time::local_time;
use crate::cli::output::table::{Fit, Table, cell, cells};
use crate::client::Client;
use crate::coordinator::LONGEST_MESSAGE;
use crate::exit::{Exit, Usage};
use crate::model::{
    Address, ContextId, Draft, JobJson, Json, Message, MessageFormat, MessageKey, MessageList, MessagePage, MessageStatus, MessageType,
    Name, Pong, PongAnswer, Timestamp, exact, without_position,
};
use crate::read_text::{read_at_most, read_text};

/// Commands of messages.
#[derive(Debug, Subcommand)]
pub(super) enum MessageCommand {
    /// Send a message and print its name
    Send(Box<Send>),
    /// Print a message
    Show(OneMessage),
    /// List received messages that were not acknowledged, outgoing messages, or messages with a status
    List {
        /// List outgoing messages
        #[arg(long)]
        out: bool,
        /// List messages with this status in both directions, the latest change first: dispatched, acknowledged,
        /// processed or error
        #[arg(long, value_name = "STATUS", conflicts_with = "out")]
        status: Option<MessageStatus>,
        /// Only messages of this caller [default: of all callers, or yours if you may see no others]
        #[arg(long, value_name = "N")]
        caller: Option<u32>,
        #[command(flatten)]
        paging: Paging,
    },
    /// Acknowledge a received message, so that it is not listed any more
    Acknowledge(OneMessage),
    /// Delete a message
    Delete(OneMessage),
    /// Ask the node at an address: print the way there, its key, mutual trust, its clock, and the response time
    Ping(Ping),
    /// Print the key of this server's node, which other nodes list in their setting nodes
    Key,
}

/// A message to send.
#[derive(Debug, Args)]
pub(super) struct Send {
    /// The text of the message, or - for stdin
    #[arg(value_name = "MESSAGE|-", default_value = "")]
    message: String,
    /// The destination: here (another context of the server), node:NAME (from the settings), redis://…, or a Mycelium
    /// node
    #[arg(long, value_name = "ADDRESS")]
    to: Option<Address>,
    /// The topic. Without --to, the message goes to the runner with this topic, or to one of this type
    #[arg(long, value_name = "TOPIC")]
    topic: Option<Name>,
    /// The destination context
    #[arg(long, value_name = "N", default_value_t = 0)]
    target_context: u32,
    /// The type of the message: job, chat or mail
    #[arg(long = "type", value_name = "TYPE", default_value = "chat")]
    message_type: MessageType,
    /// The format of the text: html, text or md
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: MessageFormat,
    /// The jobs of a message of type job: a JSON list in a file, or - for stdin
    #[arg(long, value_name = "FILE")]
    jobs: Option<PathBuf>,
    /// Timeout for the other side to store the message, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 300)]
    timeout_ack: u32,
    /// Timeout for its result after that, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 3600)]
    timeout_result: u32,
    /// The sender [default: you]
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    caller: u32,
    #[command(flatten)]
    context: InContext,
}

/// The address to ask.
#[derive(Debug, Args)]
pub(super) struct Ping {
    /// The address: here (another context of the server), node:NAME (from the settings), redis://…, or a Mycelium node
    #[arg(value_name = "ADDRESS")]
    address: Address,
    /// The context at the address
    #[arg(long, value_name = "N", default_value_t = 0)]
    target_context: u32,
    /// Number of requests. An idle Mycelium node is polled for messages once a second, and more often after the first
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100))]
    count: u32,
    #[command(flatten)]
    context: InContext,
}

/// A message.
#[derive(Debug, Args)]
pub(super) struct OneMessage {
    /// The name of the message: its sender and number, such as 12:101
    name: MessageKey,
    #[command(flatten)]
    context: InContext,
}

/// The jobs of a list, as the server reads them.
fn jobs(text: &str) -> Result<Vec<Json>, String> {
    let no_list = |error: serde_json::Error| format!("is no JSON list of jobs: {error}");
    let jobs: Vec<&RawValue> = serde_json::from_str(text).map_err(no_list)?;
    let read = |(index, job): (usize, &RawValue)| match serde_json::from_str(job.get()) {
        Ok(JobJson(job)) => Ok(job),
        Err(error) => Err(format!("jobs[{index}]: {}", without_position(&error.to_string()))),
    };
    jobs.into_iter().enumerate().map(read).collect()
}

impl Send {
    async fn main(&self, global: &Global) -> anyhow::Result<Exit> {
        // Report unreadable input before connecting.
        let draft = self.draft()?;
        let sent = global.connect_as_operator().await?.send_message(self.context.id(), &draft).await?;
        if global.json {
            output::json(&sent)?
        } else {
            output::line(format!("{}:{}", sent.caller_id, sent.message_id))?
        }
        Ok(Exit::Ok)
    }

    fn draft(&self) -> anyhow::Result<Draft> {
        let stdin = Path::new("-");
        let says_stdin = self.message == "-";
        if says_stdin && self.jobs.as_deref() == Some(stdin) {
            return Err(Usage("only one of the text and the jobs can come from stdin".to_owned()).into());
        }
        let job = match &self.jobs {
            Some(path) => {
                let text = read_text("list of jobs", path)?;
                let text = exact(&text, "it").map_err(|beyond| Usage(format!("{}: {beyond}", name(path))))?;
                jobs(&text).map_err(|wrong| Usage(format!("{}: {wrong}", name(path))))?
            }
            None => Vec::new(),
        };
        let message = if says_stdin { read_at_most(LONGEST_MESSAGE as u64, "message", stdin)? } else { self.message.clone() };
        Ok(Draft {
            caller_id: self.caller,
            message,
            message_type: if self.jobs.is_some() { MessageType::Job } else { self.message_type },
            message_format_type: self.format,
            timeout_ack: self.timeout_ack,
            timeout_result: self.timeout_result,
            job,
            target_context: ContextId(self.target_context),
            topic: self.topic.clone(),
            address: self.to.clone(),
        })
    }
}

impl MessageCommand {
    pub(super) async fn main(&self, global: &Global) -> anyhow::Result<Exit> {
        if let Self::Send(send) = self {
            return send.main(global).await;
        }
        let client = global.connect_as_operator().await?;
        match self {
            Self::Send(_) => {}
            Self::Show(OneMessage { name, context }) => show(global, &client.get_message(context.id(), *name).await?)?,
            Self::List { out, status, caller, paging } => {
                let list = if *out { MessageList::Out } else { MessageList::In };
                let page = async |context, caller: Option<&str>, cursor: Option<&str>, wanted| {
                    let caller = caller.and_then(|caller| caller.parse().ok());
                    let page = match status {
                        Some(status) => client.list_messages_of(context, *status, caller, cursor, wanted).await?,
                        None => client.list_messages(context, list, caller, cursor, wanted).await?,
                    };
                    Ok((page.messages, page.next_cursor))
                };
                let caller = caller.map(|caller| caller.to_string());
                let (messages, next_cursor) = paging.collect_of(&client, caller.as_deref(), page).await?;
                let found = MessagePage { messages, next_cursor };
                if global.json { output::json(&found)? } else { print(&found, status.is_none().then_some(list))? }
            }
            Self::Acknowledge(OneMessage { name, context }) => {
                let message = client.acknowledge_message(context.id(), *name).await?;
                if global.json { output::json(&message)? } else { output::line("acknowledged")? }
            }
            Self::Delete(OneMessage { name, context }) => {
                client.delete_message(context.id(), *name).await?;
                if global.json { output::json(&json!({ "deleted": name.to_string() }))? } else { output::line("deleted")? }
            }
            Self::Ping(asked) => return ping(global, &client, asked).await,
            Self::Key => {
                let info: crate::rpc::ServerInfo = client.call_named("server_info", json!({})).await?;
                let key = info.node_key.context("that server has no key of a node")?;
                if global.json { output::json(&json!({ "node_key": key }))? } else { output::line(key.to_string())? }
            }
        }
        Ok(Exit::Ok)
    }
}

/// Asks an address several times, and describes the node after the first answer.
async fn ping(global: &Global, client: &Client, asked: &Ping) -> anyhow::Result<Exit> {
    let (mut is_first, mut answered) = (true, true);
    for _ in 0..asked.count {
        let Pong { route, answer, error } = client.ping_node(asked.context.id(), &asked.address, ContextId(asked.target_context)).await?;
        answered &= answer.is_some();
        if global.json {
            output::json(&Pong { route, answer, error })?;
            continue;
        }
        if std::mem::take(&mut is_first) {
            output::line(format!("route    {route}"))?;
            for line in answer.iter().flat_map(who) {
                output::line(line)?;
            }
        }
        match (answer, error) {
            (Some(answer), _) => output::line(format!("answer   after {:.1} ms", answer.round_trip.duration().as_secs_f64() * 1000.0))?,
            (None, error) => output::line(format!("silence  {}", error.unwrap_or_default()))?,
        }
    }
    Ok(if answered { Exit::Ok } else { Exit::Other })
}

/// Describes the node that answered.
fn who(answer: &PongAnswer) -> Vec<String> {
    let known = answer.name.as_ref().map_or(String::new(), |name| format!(" ({name})"));
    let mut lines = vec![format!("key      {}{known}", answer.key)];
    if let Some(expected) = &answer.expected {
        lines.push(format!("warning  the setting nodes says that the key there is {expected}: what goes to it is not taken"));
    }
    let trust = match (answer.is_trusted, answer.trusts) {
        (true, true) => "each takes what the other signs",
        (true, false) => "it does not take what this server signs: put the key of this one (hero message key) into the setting nodes there",
        (false, true) => "it takes what this server signs, and this one takes its results only from a runner with its key (--pubkey)",
        (false, false) => "neither takes what the other signs: put their keys into each other's setting nodes",
    };
    lines.push(format!("trust    {trust}"));
    let (ahead, word) = (answer.clock_ahead.abs(), if answer.clock_ahead < 0.0 { "behind" } else { "ahead" });
    let far = if ahead > 120.0 { ": more than the 120 s that are tolerated" } else { "" };
    lines.push(format!("clock    {}, {ahead:.3} s {word}{far}", local_time(answer.time, "UTC")));
    lines
}

fn show(global: &Global, message: &Message) -> anyhow::Result<()> {
    if global.json {
        return output::json(message);
    }
    let or_dash = |value: Option<String>| value.unwrap_or_else(|| "-".to_owned());
    output::line(format!("message  {}:{}", message.caller_id, message.message_id))?;
    output::line(format!("type     {} ({})", message.message_type, message.message_format_type))?;
    output::line(format!("status   {}", message.status))?;
    if let Some(error) = &message.error {
        output::line(format!("error    {error}"))?;
    }
    output::line(format!("address  {}", or_dash(message.address.as_ref().map(ToString::to_string))))?;
    output::line(format!("topic    {}", or_dash(message.topic.as_ref().map(ToString::to_string))))?;
    output::line(format!("context  {} there", message.target_context))?;
    output::line(format!("created  {}", local_time(message.created_at, "UTC")))?;
    for line in &message.logs {
        let at = local_time(Timestamp::from_millis(i64::from(line.time) * 1000), "UTC");
        output::line(format!("log      {at}  {}", line.text))?;
    }
    for line in message.message.lines() {
        output::line(line.to_owned())?;
    }
    Ok(())
}

/// The maximum length of an error in a list.
const MAX_ERROR_CHARS: usize = 160;
/// The number of digits of a key in a list; different keys begin differently.
const SHOWN_KEY_DIGITS: usize = 8;

/// Formats the destination or the origin of a message. `list` is the direction, if it is known from the list.
fn way(message: &Message, list: Option<MessageList>) -> String {
    // A received message has the key of its signer, and no address.
    let came = list.map_or(message.address.is_none() && message.public_key.is_some(), |list| list == MessageList::In);
    if came {
        return message.public_key.as_ref().map_or("in".to_owned(), |key| format!("from {:.SHOWN_KEY_DIGITS$}", key.as_str()));
    }
    match (&message.address, &message.topic) {
        (Some(address), _) => format!("to {address}"),
        (None, Some(topic)) => format!("to {topic}"),
        (None, None) => "-".to_owned(),
    }
}

const HEAD: [(&str, Fit); 6] =
    [("MESSAGE", Fit::Keep), ("TYPE", Fit::Keep), ("STATUS", Fit::Keep), ("WAY", Fit::Cut), ("CREATED", Fit::Spare(1)), ("SAYS", Fit::Cut)];

fn print(page: &MessagePage, list: Option<MessageList>) -> anyhow::Result<()> {
    let mut table = Table::new(Style::stdout(), &HEAD);
    for message in &page.messages {
        table.row(cells![
            format!("{}:{}", message.caller_id, message.message_id),
            message.message_type.to_string(),
            message.status.to_string(),
            cell(&way(message, list)),
            local_time(message.created_at, "UTC"),
            // For a failed message, show the error.
            message
                .error
                .as_ref()
                .map_or_else(|| cell(&message.message), |why| Line::from(why.lines().next().unwrap_or_default()).cut(MAX_ERROR_CHARS)),
        ]);
    }
    table.print()?;
    note_more(page.next_cursor.as_deref());
    Ok(())
}
