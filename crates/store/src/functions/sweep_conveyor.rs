use std::time::Duration;

use crate::library::fcall::Function;
use crate::views::Conveyor;
use crate::{ConveyorKeys, Error};

const FUNCTION: Function = Function("sweep_conveyor");

impl Conveyor<'_> {
    /// Processes the ends of these jobs again if they have ended, because relatives may have arrived later.
    ///
    /// The relatives of an unknown job are kept for `orphans`, until it arrives. Returns the number of ends.
    pub async fn sweep(self, keys: &ConveyorKeys, ids: &[String], orphans: Duration) -> Result<usize, Error> {
        let mut call = self.0.call(&FUNCTION);
        call.arg(keys.prefix()).arg(orphans.as_secs()).arg(ids);
        self.0.commands.function(&call).await
    }
}
