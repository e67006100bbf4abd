use std::path::PathBuf;

use clap::{Args, ValueHint};

use super::InContext;
use crate::cli::exit::Usage;
use crate::cli::global::Global;
use crate::cli::output;
use crate::cli::script::read_text;
use crate::client::Client;
use crate::model::{Json, Name, ObjectId, exact};

/// What to store, and where.
#[derive(Debug, Args)]
pub(in crate::cli) struct Set {
    /// The collection
    collection: Name,
    /// A JSON file with an object or a list of objects, or - for stdin
    #[arg(value_name = "FILE|-", value_hint = ValueHint::FilePath)]
    file: PathBuf,
    #[command(flatten)]
    context: InContext,
}

/// One object, or several.
#[derive(serde::Deserialize)]
#[serde(untagged)]
enum Given {
    Several(Vec<Json>),
    One(Json),
}

impl Set {
    pub(super) async fn main(&self, global: &Global, client: &Client) -> anyhow::Result<()> {
        let text = read_text("file", &self.file)?;
        let wrong = |beyond: crate::model::Beyond| Usage(format!("{}: {beyond}", self.file.display()));
        exact(&text, "it").map_err(wrong)?;
        let given = serde_json::from_str(&text).map_err(|error| Usage(format!("{} is not JSON: {error}", self.file.display())))?;
        let (objects, is_list) = match given {
            Given::Several(objects) => (objects, true),
            Given::One(object) => (vec![object], false),
        };
        let mut ids: Vec<ObjectId> = Vec::with_capacity(objects.len());
        for (at, object) in objects.iter().enumerate() {
            let stored = client.set_object(self.context.id(), &self.collection, object).await;
            if is_list && stored.is_err() {
                output::note(format!("the object at index {at} was refused; {} before it are stored", ids.len()));
            }
            let id = stored?;
            if !global.json {
                output::line(id.as_str())?;
            }
            ids.push(id);
        }
        if global.json { output::json(&ids) } else { Ok(()) }
    }
}
