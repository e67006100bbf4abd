use clap::Args;
use serde_json::json;

use crate::cli::error::advice::{Unstarted, not_started};
use crate::cli::global::Global;
use crate::cli::input::compiled::compiled;
use crate::cli::input::script::Source;
use crate::cli::input::spec::{SingleArgs, SpecArgs};
use crate::cli::output;
use crate::exit::Exit;

/// A job to create.
#[derive(Debug, Args)]
pub(in crate::cli) struct Create {
    #[command(flatten)]
    source: Source,
    #[command(flatten)]
    spec: SpecArgs,
    #[command(flatten)]
    single: SingleArgs,
    /// Start the job as well
    #[arg(long)]
    start: bool,
}

impl Create {
    pub(super) async fn main(&self, global: &Global) -> anyhow::Result<()> {
        let spec = self.single.on(compiled(&self.source, &self.spec, Exit::Usage)?);
        let client = global.connect().await?;
        let job_id = client.create_job(&spec).await?;
        if !global.json {
            output::line(job_id.as_str())?; // Printed even if its start fails.
        }
        let status = match self.start {
            true => {
                let started = client.begin_job(&spec, &job_id).await;
                Some(started.map_err(|error| not_started(error, Unstarted::job(&job_id)))?)
            }
            false => None,
        };
        match (global.json, status) {
            (true, Some(status)) => output::json(&json!({ "job_id": job_id, "status": status })),
            (true, None) => output::json(&json!({ "job_id": job_id })),
            (false, _) => Ok(()),
        }
    }
}
