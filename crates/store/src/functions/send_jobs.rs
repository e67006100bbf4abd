use std::time::Duration;

use crate::Error;
use crate::fcall::Function;
use crate::views::Messages;
use hero_model::Runner;

const FUNCTION: Function = Function("send_jobs");

/// How long the lease of a job that is away lasts beyond all times of its message: that ends it, unless no server runs for so long.
const BEYOND: Duration = Duration::from_secs(7 * 24 * 3600);

impl Messages<'_> {
    /// Takes jobs of a runner that is elsewhere out of their queue, at most `most`, and stores a message for each. Gives how many it took.
    ///
    /// `ack` is how long the other side may take to store one, `result` how long its result may take after that.
    pub async fn send_jobs(self, runner: &Runner, most: usize, ack: Duration, result: Duration) -> Result<usize, Error> {
        let Some(address) = &runner.address else { return Ok(0) };
        let mut call = self.0.call(&FUNCTION);
        call.arg(runner.script_type.as_str()).arg(runner.runner_id.group().as_str()).arg(most);
        call.arg(u64::try_from((ack + result + BEYOND).as_millis()).unwrap_or(u64::MAX));
        call.arg(ack.as_secs().max(1)).arg(result.as_secs().max(1));
        call.arg(runner.target_context.0).arg(runner.topic.as_str()).arg(address.as_str());
        call.arg(runner.pubkey.as_ref().map_or("", |key| key.as_str()));
        self.0.commands.function(&call).await
    }
}
