use super::unexpected;
use crate::model::{ScriptType, SignerKey, Timestamp};
use crate::store::codec::Text;
use crate::store::fcall::Function;
use crate::store::{Error, Store};

const FUNCTION: Function = Function("receive_message");

/// A job of a runner that came by a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunnerJob {
    /// Who creates it.
    pub caller: u32,
    /// The number by which its sender knows it.
    pub number: u32,
    /// Whose queue it goes to.
    pub script_type: ScriptType,
    /// Its other fields.
    pub fields: Vec<(&'static str, String)>,
}

/// A message that came over a bus.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewMessage {
    /// Tells it from every other.
    pub nonce: String,
    /// Who signed it.
    pub signer: SignerKey,
    /// Until when it may come again.
    pub again: Timestamp,
    /// Who sent it.
    pub caller: u32,
    /// The number by which its sender knows it.
    pub number: u32,
    /// Its fields.
    pub fields: Vec<(&'static str, String)>,
    /// Its jobs.
    pub jobs: Vec<RunnerJob>,
}

/// What became of a message, or a result, that came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Received {
    /// It is stored.
    Stored,
    /// It came before. Nothing was done.
    Duplicate,
    /// There is no room. Nothing was done.
    Full,
    /// As many messages are known as may be. Nothing was done.
    Crowded,
    /// It is the result of nothing that is awaited. Nothing was done.
    Unknown,
    /// It is the result of a job whose runner has another key. Nothing was done.
    Signer,
}

/// Appends jobs to a call, as `messages.take_jobs` reads them.
pub(super) fn add_jobs(call: &mut redis::Cmd, jobs: &[RunnerJob]) {
    call.arg(jobs.len());
    for job in jobs {
        call.arg(job.caller).arg(job.number).arg(job.script_type.as_str()).arg(job.fields.len());
        for (field, value) in &job.fields {
            call.arg(*field).arg(value);
        }
    }
}

impl Store {
    /// Stores a message that came over a bus, with its jobs in their queues, or with its key in `msg_in`: all or nothing, and once.
    pub async fn receive_message(&self, message: &NewMessage) -> Result<Received, Error> {
        let mut call = self.0.call(&FUNCTION);
        call.arg(self.0.bounds.queue_length()).arg(self.0.bounds.jobs_per_second());
        call.arg(&message.nonce).arg(message.signer.as_str()).arg(message.again.as_millis());
        call.arg(message.caller).arg(message.number).arg(message.fields.len());
        for (field, value) in &message.fields {
            call.arg(*field).arg(value);
        }
        add_jobs(&mut call, &message.jobs);
        let answer: Vec<Text> = self.0.commands.function(&call).await?;
        match answer.first().and_then(|word| word.0.as_deref()) {
            Some("stored") => Ok(Received::Stored),
            Some("duplicate") => Ok(Received::Duplicate),
            Some("full") => Ok(Received::Full),
            Some("crowded") => Ok(Received::Crowded),
            _ => Err(unexpected("receive_message", &answer)),
        }
    }
}
