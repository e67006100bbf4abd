use super::{Making, unexpected};
use crate::Error;
use crate::library::fcall::Function;
use crate::objects::{IndexEntries, ReadObject, add_entries};
use crate::views::Objects;
use hero_model::Name;

const FUNCTION: Function = Function("fill_index");

impl Objects<'_> {
    /// Enters objects into indexes under construction, unless the objects were stored again since they were read: then they are in the
    /// indexes. If these are all objects, the indexes are then used. Returns false if one of the indexes was dropped meanwhile.
    pub async fn fill_index(
        self,
        collection: &Name,
        indexes: &[Making],
        objects: &[(&ReadObject, IndexEntries)],
        all: bool,
    ) -> Result<bool, Error> {
        let mut call = self.0.call(&FUNCTION);
        call.arg(collection.as_str()).arg(if all { "ready" } else { "" }).arg(indexes.len());
        for index in indexes {
            call.arg(&index.field).arg(&index.mark);
        }
        for (object, entries) in objects {
            call.arg(object.stored.id.as_str()).arg(&object.revision).arg(entries.values().map(Vec::len).sum::<usize>());
            add_entries(&mut call, entries);
        }
        // Each entry is stored in the index and with the object.
        self.0.memory.add(2 * objects.len(), &call);
        match self.0.commands.function::<String>(&call).await?.as_str() {
            "filled" => Ok(true),
            "stale" => Ok(false),
            reply => Err(unexpected("fill_index", &reply)),
        }
    }
}
