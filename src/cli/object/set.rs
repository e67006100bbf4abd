use std::path::PathBuf;

use clap::{Args, ValueHint};

use super::InContext;
use crate::cli::global::Global;
use crate::cli::input::script::name;
use crate::cli::input::typed::quoted;
use crate::cli::output;
use crate::exit::Usage;
use crate::model::{Json, Name, ObjectId, exact};
use crate::read_text::read_text;

/// The objects to store.
#[derive(Debug, Args)]
pub(in crate::cli) struct Set {
    /// The collection
    collection: Name,
    /// A JSON file with objects, one after another or in a list, or - for stdin
    #[arg(value_name = "FILE|-", value_hint = ValueHint::FilePath)]
    file: PathBuf,
    #[command(flatten)]
    context: InContext,
}

/// One object, or several.
#[derive(serde::Deserialize)]
#[serde(untagged)]
enum ObjectInput {
    Several(Vec<Json>),
    One(Json),
}

impl Set {
    /// Reads the objects.
    fn objects(&self) -> anyhow::Result<Vec<Json>> {
        let shown = self.file.display().to_string();
        if shown.starts_with(['{', '[']) && !self.file.exists() {
            let (collection, json) = (&self.collection, quoted(&shown));
            return Err(Usage(format!("{shown}: no such file; - reads stdin: `echo {json} | hero object set {collection} -`")).into());
        }
        let text = read_text("file", &self.file)?;
        let wrong = |beyond: crate::model::Beyond| Usage(format!("{}: {beyond}", name(&self.file)));
        let text = exact(&text, "it").map_err(wrong)?;
        let mut objects = Vec::new();
        for given in serde_json::Deserializer::from_str(&text).into_iter() {
            match given.map_err(|error| Usage(format!("{} is not JSON: {error}", name(&self.file))))? {
                ObjectInput::Several(several) => objects.extend(several),
                ObjectInput::One(object) => objects.push(object),
            }
        }
        Ok(objects)
    }

    pub(super) async fn main(&self, global: &Global) -> anyhow::Result<()> {
        let objects = self.objects()?;
        let client = global.connect().await?;
        let mut ids: Vec<ObjectId> = Vec::with_capacity(objects.len());
        for (at, object) in objects.iter().enumerate() {
            let stored = client.set_object(self.context.id(), &self.collection, object).await;
            if objects.len() > 1 && stored.is_err() {
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
