use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::Args;
use serde::de::IgnoredAny;
use serde_json::json;
use serde_json::value::RawValue;

use crate::cli::error::advice::{Unstarted, not_started};
use crate::cli::flow::{known_keys, unknown_field};
use crate::cli::global::Global;
use crate::cli::input::compiled;
use crate::cli::output;
use crate::client::Client;
use crate::exit::Usage;
use crate::model::{JobId, JobSpec};
use crate::read_text::read_text;
use crate::rpc::read_as_parameter;

/// Jobs to create.
#[derive(Debug, Args)]
pub(in crate::cli) struct CreateMany {
    /// A file with a JSON list of jobs, or one object per line (JSON Lines), or - for stdin. A job has a `script` and
    /// other fields, named as in `hero job show`: [{"script": "40 + 2", "name": "first", "timeout": "5m"}]
    #[arg(value_name = "FILE|-", value_hint = clap::ValueHint::FilePath)]
    file: PathBuf,
    /// Start the jobs as well, one after another
    #[arg(long)]
    start: bool,
}

impl CreateMany {
    pub(super) async fn main(&self, global: &Global) -> anyhow::Result<()> {
        let text = read_text("list of jobs", &self.file)?;
        let file = if self.file == Path::new("-") { "stdin".to_owned() } else { self.file.display().to_string() };
        check_fields(&text, &file)?;
        let specs =
            jobs(&text).map_err(|error| Usage(format!("{file}: a JSON list of jobs is expected, or one JSON object a line: {error:#}")))?;
        compiled::check_all(&specs, &file)?;
        let client = global.connect().await?;
        let ids = client.create_jobs(&specs).await?;
        if !global.json {
            ids.iter().try_for_each(|id| output::line(id.as_str()))?; // Printed even if their start fails.
        }
        if self.start {
            start(&client, &specs, &ids).await?;
        }
        if global.json { output::json(&json!({ "job_ids": ids })) } else { Ok(()) }
    }
}

/// Starts stored jobs. A refused job, for example because its queue is full, does not block the others.
async fn start(client: &Client, specs: &[JobSpec], ids: &[JobId]) -> anyhow::Result<()> {
    let (mut left, mut first) = (Vec::new(), None);
    for (at, (spec, id)) in specs.iter().zip(ids).enumerate() {
        let Err(error) = client.begin_job(spec, id).await else { continue };
        if error.rpc().is_none() {
            left.extend_from_slice(&ids[at..]);
            first = Some(error);
            break; // The server cannot be reached for the rest.
        }
        left.push(id.clone());
        first.get_or_insert(error);
    }
    first.map_or(Ok(()), |error| Err(not_started(error, Unstarted::jobs(ids, left))))
}

/// Refuses a field that no job has, with its line. What else is wrong is left to [`jobs`].
fn check_fields(text: &str, file: &str) -> Result<(), Usage> {
    let known = known_keys::<JobSpec>();
    for job in raw_jobs(text).unwrap_or_default() {
        let fields: BTreeMap<String, IgnoredAny> = serde_json::from_str(job.get()).unwrap_or_default();
        let Some(field) = fields.into_keys().find(|field| !known.contains(field)) else { continue };
        // The text of a job is a part of the file.
        let at = job.get().as_ptr().addr() - text.as_ptr().addr() + job.get().find(&format!("{field:?}")).unwrap_or_default();
        let line = text[..at].bytes().filter(|byte| *byte == b'\n').count() + 1;
        return Err(Usage(format!("{file}:{line}: {}", unknown_field(&field, &known))));
    }
    Ok(())
}

/// Splits a list, or one object after another.
fn raw_jobs(text: &str) -> serde_json::Result<Vec<&RawValue>> {
    if text.trim_start().starts_with('[') {
        serde_json::from_str(text)
    } else {
        serde_json::Deserializer::from_str(text).into_iter().collect()
    }
}

/// Parses jobs as the server does: a list, or one object after another.
fn jobs(text: &str) -> anyhow::Result<Vec<JobSpec>> {
    // Errors have a line and column, which only make sense for a file.
    let list = if text.trim_start().starts_with('[') {
        let _: IgnoredAny = serde_json::from_str(text)?;
        Cow::Borrowed(text)
    } else {
        let objects = raw_jobs(text)?;
        anyhow::ensure!(!objects.is_empty(), "it is empty");
        Cow::Owned(format!("[{}]", objects.iter().map(|object| object.get()).collect::<Vec<_>>().join(",")))
    };
    Ok(read_as_parameter(&list, "jobs")?)
}
