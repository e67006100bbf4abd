use super::unexpected;
use crate::library::fcall::Function;
use crate::views::Schedules;
use crate::{Error, Firing};
use hero_model::Overlap;

const FUNCTION: Function = Function("skip_missed");

impl Schedules<'_> {
    /// Moves a schedule on without a job. Returns false if it waits for another occurrence than expected, or is gone.
    pub async fn skip_missed(self, firing: &Firing) -> Result<bool, Error> {
        let mut call = self.0.call(&FUNCTION);
        // Without a job there is no overlap.
        call.arg(Firing { overlap: Overlap::Allow, ..firing.clone() }.argument(1));
        match self.0.commands.function::<String>(&call).await?.as_str() {
            "skipped" => Ok(true),
            "fired" => Ok(false),
            reply => Err(unexpected("skip_missed", &reply)),
        }
    }
}
