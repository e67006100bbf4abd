//! `hero object …`: the objects stored by scripts of type osis.

mod find;
mod set;

use clap::{Args, Subcommand};
use serde_json::json;

use super::global::Global;
use super::output::{self, Style};
use crate::cli::output::table::{Fit, Table, cells};
use crate::exit::Exit;
use crate::model::{Collection, ContextId, Json, Name, ObjectId};

/// Commands of objects.
#[derive(Debug, Subcommand)]
pub(super) enum Object {
    /// List the collections with their number of objects and their indexes
    #[command(visible_alias = "list")]
    Collections(InContext),
    /// Print an object
    Get(ObjectArgs),
    /// Find objects by their fields, and print one per line
    Find(find::FindObjects),
    /// Store the objects of a JSON file, one after another or in a list, and print their ids
    Set(set::Set),
    /// Delete an object
    Delete(ObjectArgs),
    /// Delete a collection with all its objects and indexes, permanently
    Drop(NamedCollection),
}

/// The context of a command.
#[derive(Debug, Args)]
pub(super) struct InContext {
    /// The context number
    #[arg(long = "context", value_name = "N", default_value_t = 0)]
    number: u32,
}

/// A collection.
#[derive(Debug, Args)]
pub(super) struct NamedCollection {
    /// The collection
    #[arg(value_name = "COLLECTION")]
    name: Name,
    #[command(flatten)]
    context: InContext,
}

/// An object.
#[derive(Debug, Args)]
pub(super) struct ObjectArgs {
    /// The collection
    collection: Name,
    /// The id of the object
    id: ObjectId,
    #[command(flatten)]
    context: InContext,
}

impl InContext {
    pub(super) fn id(&self) -> ContextId {
        ContextId(self.number)
    }
}

impl Object {
    pub(super) async fn main(&self, global: &Global) -> anyhow::Result<Exit> {
        if let Self::Set(set) = self {
            set.main(global).await?;
            return Ok(Exit::Ok);
        }
        let client = global.connect().await?;
        match self {
            Self::Collections(context) => {
                let collections = client.list_collections(context.id()).await?;
                if global.json { output::json(&collections)? } else { list(&collections)? }
            }
            Self::Get(ObjectArgs { collection, id, context }) => show(global, &client.get_object(context.id(), collection, id).await?)?,
            Self::Find(find) => find.main(global, &client).await?,
            Self::Set(_) => {} // Its file is read before a server is asked.
            Self::Delete(ObjectArgs { collection, id, context }) => {
                let deleted = client.delete_object(context.id(), collection, id).await?;
                let told = if deleted { "deleted" } else { "there was no such object" };
                if global.json { output::json(&json!({ "deleted": deleted }))? } else { output::line(told)? }
            }
            Self::Drop(NamedCollection { name, context }) => {
                let objects = client.drop_collection(context.id(), name).await?;
                let told = match objects {
                    Some(1) => "dropped, with 1 object".to_owned(),
                    Some(many) => format!("dropped, with {many} objects"),
                    None => "there was no such collection".to_owned(),
                };
                if global.json { output::json(&json!({ "objects": objects }))? } else { output::line(told)? }
            }
        }
        Ok(Exit::Ok)
    }
}

/// Prints one object; for people on several lines.
fn show(global: &Global, object: &Json) -> anyhow::Result<()> {
    if global.json {
        return output::json(object);
    }
    for line in serde_json::to_string_pretty(&object.to_value()?)?.lines() {
        output::line(line)?;
    }
    Ok(())
}

const HEAD: [(&str, Fit); 4] = [("COLLECTION", Fit::Cut), ("OBJECTS", Fit::Keep), ("TYPED", Fit::Keep), ("INDEXES", Fit::Spare(1))];

fn list(collections: &[Collection]) -> anyhow::Result<()> {
    let style = Style::stdout();
    let mut table = Table::new(style, &HEAD);
    for collection in collections {
        let of = |index: &crate::model::Index| if index.ready { index.field.clone() } else { format!("{} (being made)", index.field) };
        let indexes: Vec<String> = collection.indexes.iter().map(of).collect();
        table.row(cells![
            collection.name.to_string(),
            collection.objects.to_string(),
            if collection.typed { "yes" } else { "-" }.to_owned(),
            if indexes.is_empty() { "-".to_owned() } else { indexes.join(", ") },
        ]);
    }
    table.print()
}
