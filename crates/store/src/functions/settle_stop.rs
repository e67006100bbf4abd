use std::time::Duration;

use crate::Error;
use crate::fcall::Function;
use crate::views::Messages;
use hero_model::MessageKey;

const FUNCTION: Function = Function("settle_stop");

/// What became of telling the other side that a job was stopped which is away.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StopTold {
    /// It knows.
    Told,
    /// It will not be told, for this reason.
    Over(String),
    /// It is told again after so long.
    Later(Duration),
}

impl Messages<'_> {
    /// Records what became of telling the other side that the job of a message was stopped. Says whether it was to be told.
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
