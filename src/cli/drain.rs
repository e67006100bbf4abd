use std::time::Duration;

use clap::Args;
use serde_json::json;

use super::global::Global;
use super::output;
use crate::client;
use crate::exit::Exit;
use crate::model::parse_time;

/// Interval at which the end of the server is checked.
const POLL_INTERVAL: Duration = Duration::from_millis(200);

/// Makes a server stop taking jobs and exit when running jobs have ended.
#[derive(Debug, Args)]
pub(super) struct Drain {
    /// Time after which the server ends in any case. Scripts that still run then get the server's grace period
    #[arg(long, value_name = "TIME", default_value = "1h", value_parser = parse_time)]
    timeout: Duration,
    /// Return at once instead of waiting until the server has ended
    #[arg(long)]
    no_wait: bool,
}

impl Drain {
    pub(super) async fn main(&self, global: &Global) -> anyhow::Result<Exit> {
        let (client, address) = global.connect_to_drain().await?;
        let running = client.drain_server(self.timeout).await?;
        if !global.json {
            let jobs = if running == 1 { "1 job runs".to_owned() } else { format!("{running} jobs run") };
            output::note(format!("the server at {address} takes no jobs any more; {jobs} there"));
        }
        if !self.no_wait {
            until_ended(&client).await?;
        }
        if global.json {
            output::json(&json!({ "server": address, "running": running, "ended": !self.no_wait }))?;
        } else if !self.no_wait {
            output::line("the server has ended")?;
        }
        Ok(Exit::Ok)
    }
}

/// Waits until the server closes the connection. The server enforces the timeout itself.
async fn until_ended(client: &client::Client) -> anyhow::Result<()> {
    loop {
        match client.ping().await {
            Ok(()) => tokio::time::sleep(POLL_INTERVAL).await,
            Err(client::Error::Closed(_) | client::Error::Unreachable { .. }) => return Ok(()),
            Err(error) => return Err(error.into()),
        }
    }
}
