use std::time::Duration;

use clap::Args;

use super::FlowArgs;
use super::ending::report;
use super::watch::Watch;
use crate::cli::global::{Global, RECONNECT_TIME};
use crate::cli::watch::Signals;
use crate::exit::Exit;
use crate::model::parse_time;

/// Shows a flow until it ends, as `hero flow run` does. Ctrl-C ends only the wait.
#[derive(Debug, Args)]
pub(in crate::cli) struct Wait {
    #[command(flatten)]
    named: FlowArgs,
    /// Maximum time to wait. Then exits with code 6 [default: to the end]
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    wait: Option<Duration>,
    /// Time to try to reconnect when the server goes away, as in a restart. The flow continues [default: 30s]
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    reconnect: Option<Duration>,
}

impl Wait {
    pub(super) async fn main(&self, global: &Global) -> anyhow::Result<Exit> {
        let (context, flow) = self.named.of();
        let reconnect = self.reconnect.unwrap_or(RECONNECT_TIME);
        let client = global.connect_to_wait(reconnect, self.wait).await?;
        let mut watch = Watch::of(client.clone(), context, flow, reconnect, false, global.json);
        let mut signals = Signals::new()?;
        let ended = watch.finish(&mut signals, self.wait).await?;
        report(global, &client, &mut signals, (context, flow), None, ended).await
    }
}
