//! Reads the schemas of objects from the files in the settings.

use std::path::Path;

use crate::dispatch::Schemas;
use crate::exit::{Usage, chain};
use crate::model::{Name, tree};
use crate::read_text::read_text;

/// Reads schemas given as `COLLECTION=FILE`. The error names the file of the first invalid one.
pub(crate) fn read(given: &[String]) -> anyhow::Result<Schemas> {
    let mut schemas = Schemas::default();
    for entry in given {
        let wrong = |why: String| Usage(format!("object_schemas: {entry}: {why}"));
        let (name, file) =
            entry.split_once('=').ok_or_else(|| wrong("that is not a collection and its file, such as people=people.json".into()))?;
        let collection: Name = name.trim().parse().map_err(|error| wrong(format!("{error}")))?;
        if schemas.has(&collection) {
            return Err(wrong(format!("{collection} has a schema already")).into());
        }
        let text = read_text("schema", Path::new(file.trim())).map_err(|error| wrong(chain(&error)))?;
        let schema = tree(&text).map_err(|error| wrong(format!("the file is not JSON: {error}")))?;
        schemas.add(collection, &schema).map_err(|why| wrong(format!("the file {why}")))?;
    }
    Ok(schemas)
}
