use super::unexpected;
use crate::Error;
use crate::library::fcall::Function;
use crate::value::Text;
use crate::views::Messages;
use hero_model::{ScriptType, SignerKey, Timestamp};

const FUNCTION: Function = Function("receive_message");

/// A job of a runner that arrived in a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunnerJob {
    /// The number of its creator.
    pub caller: u32,
    /// The number that its sender gave it.
    pub number: u32,
    /// The script type, whose queue it enters.
    pub script_type: ScriptType,
    /// Its other fields.
    pub fields: Vec<(&'static str, String)>,
}

/// A message that arrived over a bus.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewMessage {
    /// The nonce, which identifies it.
    pub nonce: String,
    /// The key that signed it.
    pub signer: SignerKey,
    /// The time until which it may arrive again.
    pub again: Timestamp,
    /// The number of its sender.
    pub caller: u32,
    /// The number that its sender gave it.
    pub number: u32,
    /// Its fields.
    pub fields: Vec<(&'static str, String)>,
    /// Its jobs.
    pub jobs: Vec<RunnerJob>,
}

/// The result of receiving a message or a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Received {
    /// It is stored.
    Stored,
    /// It arrived before. Nothing was done.
    Duplicate,
    /// There is no room. Nothing was done.
    Full(Lack),
    /// The limit of known messages is reached. Nothing was done.
    Crowded,
    /// No such result is awaited. Nothing was done.
    Unknown,
    /// The runner of the job has another key. Nothing was done.
    Signer,
}

/// The resource that is missing for a message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Lack {
    /// Redis is nearly full.
    #[error("its Redis uses more than 90% of its memory; what is left is for the ends of jobs")]
    Memory,
    /// The owners of earlier messages have not fetched them.
    #[error("msg_in is full with {MOST_IN} messages; acknowledge_message removes them, and so does RPOP")]
    In,
    /// Too many jobs wait.
    #[error("the queue of {script_type} is full with {most} jobs (queue_length); there is room when some have run")]
    Queue {
        /// The script type of a job of the message.
        script_type: String,
        /// The most jobs that may wait.
        most: u64,
    },
    /// Too many jobs arrived at once.
    #[error("it reached its limit of {0} jobs per second (jobs_per_second)")]
    Rate(u64),
    /// Other programs have taken the numbers that the message or its jobs would get.
    #[error("it is still looking for a number that no other message or job has")]
    Number,
}

/// The most messages in `msg_in`, as in `messages.lua`.
const MOST_IN: usize = 10_000;

impl Lack {
    /// Reads the answer of a function after the word `full`.
    fn of(told: &[Text]) -> Option<Self> {
        let word = |at: usize| told.get(at).and_then(|word| word.0.as_deref());
        let number = |at: usize| told.get(at).and_then(Text::parse).unwrap_or(0);
        Some(match word(0)? {
            "memory" => Self::Memory,
            "msg_in" => Self::In,
            "queue" => Self::Queue { script_type: word(1)?.to_owned(), most: number(2) },
            "rate" => Self::Rate(number(1)),
            "number" => Self::Number,
            _ => return None,
        })
    }
}

/// The names that a received message and its jobs have here.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MadeJobs {
    /// The name of the message, if it was not known before.
    pub message: String,
    /// Each of its jobs: its name in its queue, and the id that it has from its start on.
    pub jobs: Vec<(String, String)>,
}

impl MadeJobs {
    /// Reads the answer of a function: the message, then name and id of each job.
    pub(super) fn of(told: &[Text]) -> Self {
        let text = |text: &Text| text.0.as_deref().unwrap_or_default().to_owned();
        let (message, jobs) = told.split_first().map_or((String::new(), &[][..]), |(first, rest)| (text(first), rest));
        Self { message, jobs: jobs.chunks_exact(2).map(|pair| (text(&pair[0]), text(&pair[1]))).collect() }
    }
}

/// Appends jobs to a call, in the format of `message_jobs.take_jobs`.
pub(super) fn add_jobs(call: &mut redis::Cmd, jobs: &[RunnerJob]) {
    call.arg(jobs.len());
    for job in jobs {
        call.arg(job.caller).arg(job.number).arg(job.script_type.as_str()).arg(job.fields.len());
        for (field, value) in &job.fields {
            call.arg(*field).arg(value);
        }
    }
}

impl Messages<'_> {
    /// Stores a message that arrived over a bus, with its jobs in their queues, or with its key in `msg_in`: all or nothing, and once.
    pub async fn receive(self, message: &NewMessage) -> Result<(Received, MadeJobs), Error> {
        let mut call = self.0.call(&FUNCTION);
        call.arg(self.0.look()).arg(self.0.bounds.queue_length()).arg(self.0.bounds.jobs_per_second());
        call.arg(&message.nonce).arg(message.signer.as_str()).arg(message.again.as_millis());
        call.arg(message.caller).arg(message.number).arg(message.fields.len());
        for (field, value) in &message.fields {
            call.arg(*field).arg(value);
        }
        add_jobs(&mut call, &message.jobs);
        let answer: Vec<Text> = self.0.commands.function(&call).await?;
        match answer.first().and_then(|word| word.0.as_deref()) {
            Some("stored") => Ok((Received::Stored, MadeJobs::of(&answer[1..]))),
            Some("duplicate") => Ok((Received::Duplicate, MadeJobs::default())),
            Some("full") => {
                let lack = Lack::of(&answer[1..]).ok_or_else(|| unexpected("receive_message", &answer))?;
                Ok((Received::Full(lack), MadeJobs::default()))
            }
            Some("crowded") => Ok((Received::Crowded, MadeJobs::default())),
            _ => Err(unexpected("receive_message", &answer)),
        }
    }
}
