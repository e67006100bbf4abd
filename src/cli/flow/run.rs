use std::time::Duration;

use clap::Args;

use super::Source;
use super::ending::report;
use super::watch::Watch;
use crate::cli::global::{Global, RECONNECT_TIME};
use crate::cli::watch::Signals;
use crate::exit::Exit;
use crate::model::parse_time;

/// Runs the flow in a file. Shows its jobs on stderr while they run, and the output of the last ones on stdout. The
/// exit code tells how it ended.
#[derive(Debug, Args)]
pub(in crate::cli) struct Run {
    #[command(flatten)]
    source: Source,
    /// Maximum time to wait for the end. Then exits with code 6 and the flow continues [default: to the end]
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    wait: Option<Duration>,
    /// Time to try to reconnect when the server goes away, as in a restart. The flow continues [default: 30s]
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    reconnect: Option<Duration>,
}

impl Run {
    pub(super) async fn main(&self, global: &Global) -> anyhow::Result<Exit> {
        let spec = self.source.spec()?;
        let reconnect = self.reconnect.unwrap_or(RECONNECT_TIME);
        let client = global.connect_to_wait(reconnect, self.wait).await?;
        let (flow, context) = (client.create_flow(&spec).await?, spec.context_id);
        let mut watch = Watch::of(client.clone(), context, flow, reconnect, true, global.json);
        let mut signals = Signals::new()?;
        let ended = watch.start(&mut signals, &spec, self.wait).await?;
        report(global, &client, &mut signals, (context, flow), Some((&self.source, &spec)), ended).await
    }
}
