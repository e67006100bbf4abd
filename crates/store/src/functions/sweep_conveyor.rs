use std::time::Duration;

use crate::fcall::Function;
use crate::views::Conveyor;
use crate::{ConveyorKeys, Error};

const FUNCTION: Function = Function("sweep_conveyor");

impl Conveyor<'_> {
    /// Has the ends of these jobs worked off again if they have ended, because relatives may have come after that.
    ///
    /// Relatives of a job that nobody knows are kept for `orphans`, until it comes. Gives how many ends there are.
    pub async fn sweep(self, keys: &ConveyorKeys, ids: &[String], orphans: Duration) -> Result<usize, Error> {
        let mut call = self.0.call(&FUNCTION);
        call.arg(keys.prefix()).arg(orphans.as_secs()).arg(ids);
        self.0.commands.function(&call).await
    }
}
