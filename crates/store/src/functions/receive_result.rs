use super::unexpected;
use crate::library::fcall::Function;
use crate::views::Messages;
use crate::{Error, Lack, Received};
use hero_model::{JobError, SignerKey};

const FUNCTION: Function = Function("receive_result");

/// The end of a job that was sent in a message.
#[derive(Debug, Clone, PartialEq)]
pub enum FarEnd {
    /// It finished with this output, in this format (`json` or `text`).
    Finished(String, &'static str),
    /// It ended in error.
    Failed(JobError),
}

/// The result of a job that was sent in a message.
#[derive(Debug, Clone, PartialEq)]
pub struct NewResult {
    /// The nonce, which identifies it.
    pub nonce: String,
    /// The number of the sender of the message with the job.
    pub caller: u32,
    /// The number of that message.
    pub number: u32,
    /// The nonce of that message.
    pub awaited: String,
    /// The key that signed the result.
    pub signer: SignerKey,
    /// The end of the job.
    pub end: FarEnd,
    /// The fields of the result, which its owner fetches if the job is none of this context.
    pub fields: Vec<(&'static str, String)>,
}

impl Messages<'_> {
    /// Takes the result of a job that was sent in a message, once.
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
                // The ended job may have relatives. They are released at once, without a wait for the next sweep.
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
