use super::unexpected;
use crate::Error;
use crate::library::fcall::Function;
use crate::value::Text;
use crate::views::Messages;
use hero_model::{JobId, SignerKey, Timestamp};

const FUNCTION: Function = Function("receive_stop");

/// A request to stop the jobs of a message, by the node that sent the message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewStop {
    /// The key that signed it.
    pub signer: SignerKey,
    /// The nonce of the message.
    pub nonce: String,
    /// The number of the sender of the message.
    pub caller: u32,
    /// The number of the message at its sender.
    pub number: u32,
    /// The time until which the message may arrive, or arrive again.
    pub again: Timestamp,
}

/// The result of receiving a stop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StopReceived {
    /// It is accepted.
    Taken {
        /// Whether it came for the first time.
        is_news: bool,
        /// The jobs of the message that had not ended, each with whether it must still be stopped.
        jobs: Vec<(JobId, bool)>,
    },
    /// Another node sent that message. Nothing was done.
    Signer,
    /// The limit of known messages is reached. Nothing was done.
    Crowded,
}

impl Messages<'_> {
    /// Takes the stop of a message: its jobs that no actor has taken end, and if the message has not arrived yet, its jobs will not run.
    pub async fn receive_stop(self, stop: &NewStop) -> Result<StopReceived, Error> {
        let mut call = self.0.call(&FUNCTION);
        call.arg(stop.signer.as_str()).arg(&stop.nonce).arg(stop.caller).arg(stop.number).arg(stop.again.as_millis());
        let answer: Vec<Text> = self.0.commands.function(&call).await?;
        let is_news = match answer.first().and_then(|word| word.0.as_deref()) {
            Some("stopped") => true,
            Some("known") => false,
            Some("signer") => return Ok(StopReceived::Signer),
            Some("crowded") => return Ok(StopReceived::Crowded),
            _ => return Err(unexpected("receive_stop", &answer)),
        };
        let job = |pair: &[Text]| Some((pair[0].parse()?, pair[1].0.as_deref() == Some("open")));
        Ok(StopReceived::Taken { is_news, jobs: answer[1..].chunks_exact(2).filter_map(job).collect() })
    }
}
