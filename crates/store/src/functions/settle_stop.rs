use std::time::Duration;

use crate::Error;
use crate::library::fcall::Function;
use crate::views::Messages;
use hero_model::MessageKey;

const FUNCTION: Function = Function("settle_stop");

/// The outcome of telling the other side that a job that is away was stopped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StopTold {
    /// The other side knows it.
    Told,
    /// The other side will not be told, for this reason.
    Over(String),
    /// The other side is told again after this time.
    Later(Duration),
}

impl Messages<'_> {
    /// Records the outcome of telling the other side that the job of a message was stopped. Returns whether it was still to be told.
    pub async fn settle_stop(self, message: MessageKey, told: &StopTold) -> Result<bool, Error> {
        let mut call = self.0.call(&FUNCTION);
        call.arg(message.to_string());
        match told {
            StopTold::Told => call.arg("told").arg("the other side knows that its job was stopped"),
            StopTold::Over(why) => call.arg("over").arg(format!("the other side was not told that its job was stopped: {why}")),
            StopTold::Later(rest) => call.arg("later").arg(u64::try_from(rest.as_millis()).unwrap_or(u64::MAX)),
        };
        self.0.commands.function(&call).await
    }
}
