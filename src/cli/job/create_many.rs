use std::marker::PhantomData;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::Args;
use serde_json::json;

use crate::cli::global::Global;
use crate::cli::output;
use crate::cli::script::read_text;
use crate::cli::script_error;
use crate::model::{JobSpec, exact, strict};

/// Several jobs to store.
#[derive(Debug, Args)]
pub(in crate::cli) struct CreateMany {
    /// A JSON file with a list of jobs, or - for stdin. Each is an object with `script` and what else a job can be given, by the names that `hero job
    /// show` uses: [{"script": "40 + 2", "name": "first", "timeout": 5}]
    #[arg(value_name = "FILE|-", value_hint = clap::ValueHint::FilePath)]
    file: PathBuf,
    /// Start them as well, one after the other
    #[arg(long)]
    start: bool,
}

impl CreateMany {
    pub(super) async fn main(&self, global: &Global) -> anyhow::Result<()> {
        let text = read_text("list of jobs", &self.file)?;
        let file = if self.file == Path::new("-") { "stdin".to_owned() } else { self.file.display().to_string() };
        anyhow::ensure!(
            !text.trim_start().starts_with('{'),
            "{file} has one object and not a list of jobs; put it between [ and ], as in [{{\"script\": \"40 + 2\"}}]"
        );
        let specs = jobs(&text).with_context(|| format!("{file} is not a JSON list of jobs"))?;
        script_error::check_all(&specs, &file)?;
        let client = global.connect().await?;
        let ids = client.create_jobs(&specs).await?;
        if self.start {
            for (spec, id) in specs.iter().zip(&ids) {
                client.begin_job(spec, id).await.with_context(|| format!("all jobs are stored, but {id} could not be started"))?;
            }
        }
        if global.json {
            return output::json(&json!({ "job_ids": ids }));
        }
        ids.iter().try_for_each(|id| output::line(id.as_str()))
    }
}

/// Reads jobs as the server does.
fn jobs(text: &str) -> anyhow::Result<Vec<JobSpec>> {
    let text = exact(text, "it").map_err(|beyond| anyhow::anyhow!("{beyond}"))?;
    let (mut json, mut place) = (serde_json::Deserializer::from_str(&text), String::from("it"));
    let jobs = strict(PhantomData, &mut json, &mut place).map_err(|error| anyhow::anyhow!("{place}: {error}"))?;
    json.end()?;
    Ok(jobs)
}
