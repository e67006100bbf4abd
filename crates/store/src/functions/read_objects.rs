use super::unexpected;
use crate::Error;
use crate::library::fcall::Function;
use crate::objects::{EntryRange, ReadObject, ReadObjects};
use crate::views::Objects;
use hero_model::{Name, ObjectId, StoredObject};

const FUNCTION: Function = Function("read_objects");

/// The limits of one read.
#[derive(Debug, Clone, Copy)]
pub struct Portion {
    /// The most objects.
    pub objects: usize,
    /// The approximate number of bytes, unless the first object is larger.
    pub bytes: usize,
    /// Whether to read their revisions.
    pub revisions: bool,
}

impl Objects<'_> {
    /// Reads objects in the order of an index or of their ids. Nothing: the index does not exist, or is under construction.
    pub async fn read(
        self,
        collection: &Name,
        range: &EntryRange,
        descending: bool,
        portion: Portion,
    ) -> Result<Option<ReadObjects>, Error> {
        let mut call = self.0.call(&FUNCTION);
        call.arg(collection.as_str()).arg(range.field.as_deref().unwrap_or_default()).arg(&range.first).arg(&range.last);
        call.arg(if descending { "descending" } else { "" }).arg(if portion.revisions { "revisions" } else { "" });
        call.arg(portion.objects).arg(portion.bytes);
        let answer: Vec<Vec<u8>> = self.0.commands.function(&call).await?;
        match &*answer {
            [word, reached, objects @ ..] if word == b"more" || word == b"end" => Ok(Some(ReadObjects {
                // An entry that is no object was written by another program, and is skipped.
                objects: objects.chunks_exact(3).filter_map(read).collect(),
                reached: Some(reached.clone()).filter(|entry| word == b"more" && !entry.is_empty()),
            })),
            [word] if word == b"unindexed" => Ok(None),
            _ => Err(unexpected("read_objects", &answer)),
        }
    }
}

fn read(parts: &[Vec<u8>]) -> Option<ReadObject> {
    let [entry, revision, json] = parts else { return None };
    let id: ObjectId = std::str::from_utf8(entry.split(|byte| *byte == 0).next_back()?).ok()?.parse().ok()?;
    let object = serde_json::from_slice(json).ok()?;
    Some(ReadObject { entry: entry.clone(), revision: String::from_utf8_lossy(revision).into_owned(), stored: StoredObject { id, object } })
}
