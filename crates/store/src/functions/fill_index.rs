use super::{Making, unexpected};
use crate::Error;
use crate::fcall::Function;
use crate::objects::{IndexEntries, ReadObject, add_entries};
use crate::views::Objects;
use hero_model::Name;

const FUNCTION: Function = Function("fill_index");

impl Objects<'_> {
    /// Enters objects into indexes that are being made, unless they were stored anew since they were read: then they are in them.
    /// Afterwards, if that were all, the indexes are used. False: one of them was dropped meanwhile.
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
        // An entry stands in the index, and beside the object.
        self.0.memory.add(2 * objects.len(), &call);
        match self.0.commands.function::<String>(&call).await?.as_str() {
            "filled" => Ok(true),
            "stale" => Ok(false),
            reply => Err(unexpected("fill_index", &reply)),
        }
    }
}
