use std::collections::BTreeSet;

use super::{Objects, check_path, done, entries, too_many_collections, tree};
use crate::dispatch::Error;
use hero_model::Name;
use hero_store::{EntryRange, HostCallId, IndexEntries, IndexesDeclared, Making, Portion, ReadObject};

/// Maximum size of one read.
const MAX_READ: Portion = Portion { objects: 256, bytes: 1 << 20, revisions: true };
/// Maximum number of entries of one write, unless one object has more.
const MAX_ENTRIES_PER_WRITE: usize = 1024;
/// Maximum number of fields of one call, and of indexes of a collection.
const MOST_FIELDS: usize = 16;

impl Objects {
    /// Creates indexes of these fields, in addition to those of the collection, and returns when they are in use.
    /// Existing objects are entered some at a time while others are stored, and both get the same entries.
    ///
    /// It continues even if nobody waits for it any more. If it fails, for example because an object cannot be entered,
    /// it drops the indexes that it declared. Call it again to finish an index that a process left unfinished.
    pub async fn index(&self, collection: &Name, fields: &[String]) -> Result<(), Error> {
        let fields: BTreeSet<String> = fields.iter().cloned().collect();
        if fields.is_empty() {
            return Err(Error::invalid("fields", "there is none"));
        }
        if fields.len() > MOST_FIELDS {
            return Err(too_many(collection));
        }
        for field in &fields {
            check_path(field).map_err(|wrong| Error::invalid("fields", wrong))?;
        }
        let (objects, collection) = (self.clone(), collection.clone());
        let made = tokio::spawn(async move {
            let _one_at_a_time = objects.0.making.lock().await;
            objects.make(&collection, fields.into_iter().collect()).await
        });
        made.await.unwrap_or_else(|_| Err(Error::invalid("fields", "making the indexes failed")))
    }

    async fn make(&self, collection: &Name, fields: Vec<String>) -> Result<(), Error> {
        self.check_memory()?;
        let declared = self.store().objects().declare_indexes(collection, &fields).await?;
        self.forget(collection);
        let making = match declared {
            IndexesDeclared::Declared(making) if making.is_empty() => return Ok(()),
            IndexesDeclared::Declared(making) => making,
            IndexesDeclared::Many(_) => return Err(too_many(collection)),
            IndexesDeclared::Full => return Err(too_many_collections()),
        };
        let filled = self.fill(collection, &making).await;
        if filled.is_err() {
            for index in making.iter().filter(|index| index.new) {
                // If that fails, too, it stays until somebody makes it again or drops it.
                let _ = self.store().objects().give_up_index(collection, index).await;
            }
            self.forget(collection);
        }
        filled
    }

    async fn fill(&self, collection: &Name, making: &[Making]) -> Result<(), Error> {
        let mut range = EntryRange::ids();
        loop {
            self.check_memory()?;
            let read = {
                let _call = self.call().await?;
                self.store().objects().read(collection, &range, false, MAX_READ).await?
            };
            let read = read.ok_or_else(|| gone(collection))?;
            // The limit of entries of an object includes its entries in existing indexes.
            let mut all = self.indexed(collection).await?.to_vec();
            all.extend(making.iter().map(|index| index.field.clone()));
            let (mut entered, mut many) = (Vec::new(), 0);
            for object in &read.objects {
                let of = |wrong: String| Error::invalid("fields", format!("the object {}: {wrong}", object.stored.id));
                let mut entries = entries(&tree(&object.stored.object)?, &all).map_err(of)?;
                entries.retain(|field, _| making.iter().any(|index| index.field == *field));
                many += entries.values().map(Vec::len).sum::<usize>();
                entered.push((object, entries));
                if many >= MAX_ENTRIES_PER_WRITE {
                    self.enter(collection, making, &entered, false).await?;
                    (entered, many) = (Vec::new(), 0);
                }
            }
            self.enter(collection, making, &entered, read.reached.is_none()).await?;
            match read.reached {
                Some(reached) => range = range.after(&reached, false),
                None => return Ok(()),
            }
        }
    }

    /// Writes entries. `all` marks the indexes as complete.
    async fn enter(&self, collection: &Name, making: &[Making], entered: &[(&ReadObject, IndexEntries)], all: bool) -> Result<(), Error> {
        let _call = self.call().await?;
        match self.store().objects().fill_index(collection, making, entered, all).await? {
            true => Ok(()),
            false => Err(gone(collection)),
        }
    }

    /// Drops an index, and returns whether there was one.
    pub async fn drop_index(&self, collection: &Name, field: &str) -> Result<bool, Error> {
        self.drop_index_once(collection, field, None).await
    }

    /// Like [`Self::drop_index`], but for a host call of a script, which may be repeated and then gets the same answer.
    pub async fn drop_index_once(&self, collection: &Name, field: &str, host_call: Option<&HostCallId>) -> Result<bool, Error> {
        check_path(field).map_err(|wrong| Error::invalid("field", wrong))?;
        let _call = self.call().await?;
        let dropped = done(self.store().objects().drop_index(collection, field, host_call).await)?;
        self.forget(collection);
        Ok(dropped)
    }
}

fn gone(collection: &Name) -> Error {
    Error::invalid("collection", format!("{collection} was dropped meanwhile, or its index"))
}

fn too_many(collection: &Name) -> Error {
    Error::invalid("fields", format!("{collection} would have more than {MOST_FIELDS} indexes, which is the most"))
}
