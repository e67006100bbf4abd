use std::time::Duration;

use crate::Error;
use crate::library::fcall::Function;
use crate::views::Messages;
use hero_model::Runner;

const FUNCTION: Function = Function("send_jobs");

/// The time for which the lease of a job that is away outlasts all deadlines of its message. The message ends the job, unless no server
/// runs for that long.
const LEASE_BEYOND_DEADLINES: Duration = Duration::from_secs(7 * 24 * 3600);

impl Messages<'_> {
    /// Takes at most `most` jobs of a runner that is elsewhere out of their queue, and stores a message for each. Returns the number of
    /// jobs.
    ///
    /// `ack` is the time limit of the other side to store one, `result` that of its result after that.
    pub async fn send_jobs(self, runner: &Runner, most: usize, ack: Duration, result: Duration) -> Result<usize, Error> {
        let Some(address) = &runner.address else { return Ok(0) };
        let mut call = self.0.call(&FUNCTION);
        call.arg(runner.script_type.as_str()).arg(runner.runner_id.group().as_str()).arg(most);
        call.arg(u64::try_from((ack + result + LEASE_BEYOND_DEADLINES).as_millis()).unwrap_or(u64::MAX));
        call.arg(ack.as_secs().max(1)).arg(result.as_secs().max(1));
        call.arg(runner.target_context.0).arg(runner.topic.as_str()).arg(address.as_str());
        call.arg(runner.pubkey.as_ref().map_or("", |key| key.as_str()));
        self.0.commands.function(&call).await
    }
}
