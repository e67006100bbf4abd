//! Objects of scripts.

pub(crate) mod host_call;

use std::collections::BTreeMap;

use redis::{Cmd, Pipeline};

use super::Error;
use super::value::{Fields, Text};
use crate::views::Objects;
use hero_model::{Index, Json, Name, ObjectId, SortKey, StoredObject};

/// The prefix of a field's name in the hash of a collection, if the field has an index.
const INDEX: &str = "index:";
/// The byte that ends the key of a value in an entry of an index.
const KEY_END: u8 = 0;

/// The keys of the indexed fields of one object.
pub type IndexEntries = BTreeMap<String, Vec<SortKey>>;

/// A range of an index, or of the ids of a collection: from the first to the last entry, each with `[` or `(` before it, or `-` and `+`.
#[derive(Debug, Clone, PartialEq)]
pub struct EntryRange {
    /// The field; `None` is the ids.
    pub(super) field: Option<String>,
    pub(super) first: Vec<u8>,
    pub(super) last: Vec<u8>,
}

/// An object with the place where it was read.
#[derive(Debug, Clone, PartialEq)]
pub struct ReadObject {
    /// The entry of the index, or the id.
    pub entry: Vec<u8>,
    /// The revision, which changes each time that the object is stored; empty if it was not requested.
    pub revision: String,
    /// The object.
    pub stored: StoredObject,
}

/// The result of reading objects.
#[derive(Debug, Clone, PartialEq)]
pub struct ReadObjects {
    /// The objects, in order.
    pub objects: Vec<ReadObject>,
    /// The last entry that was read, if more follow. Its object may be gone.
    pub reached: Option<Vec<u8>>,
}

impl EntryRange {
    /// All ids.
    pub fn ids() -> Self {
        Self { field: None, first: b"-".to_vec(), last: b"+".to_vec() }
    }

    /// The ids that start with these bytes or with greater ones, and are less than `beyond`.
    pub fn of_ids(least: &[u8], beyond: &[u8]) -> Self {
        Self { field: None, ..Self::of_keys("", least, beyond) }
    }

    /// The entries of a field that start with these bytes or with greater ones, and are less than `beyond`.
    pub fn of_keys(field: &str, least: &[u8], beyond: &[u8]) -> Self {
        Self { field: Some(field.to_owned()), first: [&b"["[..], least].concat(), last: [&b"("[..], beyond].concat() }
    }

    /// The field; `None` is the ids.
    pub fn field(&self) -> Option<&str> {
        self.field.as_deref()
    }

    /// Leaves out an entry and all before it; in descending order, all after it. An entry outside of the range leaves out nothing else.
    pub fn after(mut self, entry: &[u8], descending: bool) -> Self {
        let bound = [&b"("[..], entry].concat();
        if descending && (self.last == b"+" || entry <= &self.last[1..]) {
            self.last = bound;
        } else if !descending && (self.first == b"-" || entry >= &self.first[1..]) {
            self.first = bound;
        }
        self
    }
}

/// Returns the key of the value in an entry of an index.
pub fn key_of_entry(entry: &[u8]) -> SortKey {
    SortKey::from_bytes(entry.split(|byte| *byte == KEY_END).next().unwrap_or_default())
}

/// Appends field and key of each entry to a call.
pub(super) fn add_entries(call: &mut Cmd, entries: &IndexEntries) {
    for (field, key) in entries.iter().flat_map(|(field, keys)| keys.iter().map(move |key| (field, key))) {
        call.arg(field).arg(key.as_bytes());
    }
}

impl Objects<'_> {
    /// Returns an object, if it exists.
    pub async fn get(self, collection: &Name, id: &ObjectId) -> Result<Option<Json>, Error> {
        let mut get = redis::cmd("HGET");
        get.arg(self.0.keys.objects(collection)).arg(id.as_str());
        let object = self.0.commands.call::<Text>(&get).await?.0;
        let spoilt = || Error::spoilt(self.0.keys.objects(collection), "has something for an id that is no JSON");
        object.map(|text| serde_json::from_str(&text).map_err(|_| spoilt())).transpose()
    }

    /// Whether an object exists.
    pub async fn has(self, collection: &Name, id: &ObjectId) -> Result<bool, Error> {
        let mut exists = redis::cmd("HEXISTS");
        exists.arg(self.0.keys.objects(collection)).arg(id.as_str());
        self.0.commands.call(&exists).await
    }

    /// Returns the indexes of a collection, by their fields.
    pub async fn indexes(self, collection: &Name) -> Result<Vec<Index>, Error> {
        Ok(indexes(self.0.hash(&self.0.keys.collection(collection)).await?))
    }

    /// Returns the collections in the order of their names, each with the number of its objects and its indexes.
    pub async fn collections(self) -> Result<Vec<(Name, u64, Vec<Index>)>, Error> {
        let names: Vec<Text> = self.0.commands.call(redis::cmd("SMEMBERS").arg(self.0.keys.collections())).await?;
        let mut names: Vec<Name> = names.iter().filter_map(Text::parse).collect();
        names.sort();
        // A key that another program has spoilt counts as empty.
        let objects: Vec<String> = names.iter().map(|name| self.0.keys.objects(name)).collect();
        let mut lengths = Pipeline::with_capacity(names.len());
        for key in &objects {
            lengths.cmd("HLEN").arg(key);
        }
        let lengths: Vec<u64> = self.0.each_unspoilt(&objects, &mut lengths).await?;
        let hashes = self.0.hashes(names.iter().map(|name| self.0.keys.collection(name))).await?;
        Ok(names.into_iter().zip(lengths).zip(hashes).map(|((name, objects), fields)| (name, objects, indexes(fields))).collect())
    }

    /// The approximate share of Redis' memory that is in use; 0 if there is no limit.
    pub fn memory_share(self) -> f64 {
        self.0.memory.share()
    }
}

fn indexes(fields: Fields) -> Vec<Index> {
    let of = |(name, state): (String, Text)| {
        Some(Index { field: name.strip_prefix(INDEX)?.to_owned(), ready: state.0.as_deref() == Some("ready") })
    };
    let mut indexes: Vec<Index> = fields.0.into_iter().filter_map(of).collect();
    indexes.sort();
    indexes
}
