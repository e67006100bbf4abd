use std::path::PathBuf;

use anyhow::Context as _;
use clap::Args;
use serde_json::json;

use crate::cli::output;
use crate::cli::session::Global;
use crate::cli::spec::{exact, read_text};
use crate::model::JobSpec;

/// Several jobs to store.
#[derive(Debug, Args)]
pub(in crate::cli) struct CreateMany {
    /// A JSON file with a list of jobs, each an object of the parameters of create_job; or - for stdin
    #[arg(value_name = "FILE|-")]
    file: PathBuf,
    /// Start them as well, one after the other
    #[arg(long)]
    start: bool,
}

impl CreateMany {
    pub(super) async fn main(&self, global: &Global) -> anyhow::Result<()> {
        let text = read_text("list of jobs", &self.file)?;
        let specs: Vec<JobSpec> =
            serde_json::from_str(&text).with_context(|| format!("{} is not a JSON list of jobs", self.file.display()))?;
        exact(&text).map_err(|reason| anyhow::anyhow!("{}: {reason}", self.file.display()))?;
        let client = global.connect().await?;
        let ids = client.create_jobs(&specs).await?;
        if self.start {
            for (spec, id) in specs.iter().zip(&ids) {
                client
                    .start_job(spec.context_id, id)
                    .await
                    .with_context(|| format!("all jobs are stored, but {id} could not be started"))?;
            }
        }
        if global.json {
            return output::json(&json!({ "job_ids": ids }));
        }
        ids.iter().try_for_each(|id| output::line(id.as_str()))
    }
}
