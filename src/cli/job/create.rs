use std::path::PathBuf;

use clap::Args;
use serde_json::json;

use crate::cli::exit::Exit;
use crate::cli::output;
use crate::cli::script_error;
use crate::cli::session::Global;
use crate::cli::spec::{SpecArgs, read_script};

/// A job to store.
#[derive(Debug, Args)]
pub(in crate::cli) struct Create {
    /// The script's file, or - for stdin
    #[arg(value_name = "FILE|-", required_unless_present = "script")]
    file: Option<PathBuf>,
    /// The script itself
    #[arg(long, short = 'e', value_name = "TEXT", conflicts_with = "file")]
    script: Option<String>,
    #[command(flatten)]
    spec: SpecArgs,
    /// Start it as well
    #[arg(long)]
    start: bool,
}

impl Create {
    pub(super) async fn main(&self, global: &Global) -> anyhow::Result<()> {
        let script = match (&self.script, &self.file) {
            (Some(script), _) => script.clone(),
            (None, Some(file)) => read_script(file)?,
            (None, None) => anyhow::bail!("there is no script"), // The arguments require one of them.
        };
        let spec = self.spec.spec(script)?;
        script_error::check(&spec, self.file.as_deref(), Exit::Usage)?;
        let client = global.connect().await?;
        let job_id = client.create_job(&spec).await?;
        let status = match self.start {
            true => Some(client.start_job(spec.context_id, &job_id).await?),
            false => None,
        };
        match (global.json, status) {
            (true, Some(status)) => output::json(&json!({ "job_id": job_id, "status": status })),
            (true, None) => output::json(&json!({ "job_id": job_id })),
            (false, _) => output::line(job_id.as_str()),
        }
    }
}
