use super::unexpected;
use crate::fcall::Function;
use crate::views::Messages;
use crate::{Error, Lack, Received};
use hero_model::{JobError, SignerKey};

const FUNCTION: Function = Function("receive_result");

/// How a job ended that had been sent by a message.
#[derive(Debug, Clone, PartialEq)]
pub enum FarEnd {
    /// With this output, in this format (`json` or `text`).
    Finished(String, &'static str),
    /// Badly.
    Failed(JobError),
}

/// The result of a job that had been sent by a message.
#[derive(Debug, Clone, PartialEq)]
pub struct NewResult {
    /// Tells it from every other.
    pub nonce: String,
    /// Who sent the message with the job.
    pub caller: u32,
    /// The number of that message.
    pub number: u32,
    /// The nonce of that message.
    pub awaited: String,
    /// Who signed the result.
    pub signer: SignerKey,
    /// How the job ended.
    pub end: FarEnd,
    /// The fields of the result, which its owner fetches if the job is none of this context.
    pub fields: Vec<(&'static str, String)>,
}

impl Messages<'_> {
    /// Takes the result of a job that was sent by a message, once.
    pub async fn receive_result(self, result: &NewResult) -> Result<Received, Error> {
        let mut call = self.0.call(&FUNCTION);
        call.arg(&result.nonce).arg(result.caller).arg(result.number);
        call.arg(&result.awaited).arg(result.signer.as_str());
        match &result.end {
            FarEnd::Finished(output, format) => call.arg("finished").arg(output).arg(*format).arg(""),
            FarEnd::Failed(error) => {
                let place = |place: Option<u32>| place.map_or_else(|| "-".to_owned(), |place| place.to_string());
                let place = format!("{} {}", place(error.line), place(error.column));
                call.arg("error").arg(&error.message).arg(error.kind.as_str()).arg(place)
            }
        };
        for (field, value) in &result.fields {
            call.arg(*field).arg(value);
        }
        match self.0.commands.function::<String>(&call).await?.as_str() {
            "stored" => {
                // The job that it ends may have relatives, which wait for no look then.
                self.0.releases.notify_one();
                Ok(Received::Stored)
            }
            "duplicate" => Ok(Received::Duplicate),
            "full" => Ok(Received::Full(Lack::In)),
            "number" => Ok(Received::Full(Lack::Number)),
            "unknown" => Ok(Received::Unknown),
            "signer" => Ok(Received::Signer),
            reply => Err(unexpected("receive_result", &reply)),
        }
    }
}
