use std::collections::BTreeMap;

use redis::{Cmd, Pipeline};

use super::Error;
use super::codec::{Fields, Text};
use crate::views::Objects;
use hero_model::{Index, Json, Name, ObjectId, SortKey, StoredObject};

/// What stands before the name of a field in the hash of a collection, where it has an index.
const INDEX: &str = "index:";
/// Ends the key of a value in an entry of an index.
const END: u8 = 0;

/// The keys of the fields of one object that have an index.
pub type IndexEntries = BTreeMap<String, Vec<SortKey>>;

/// A part of an index, or of the ids of a collection: entries from the first to the last, each with `[` or `(` before it, or `-` and `+`.
#[derive(Debug, Clone, PartialEq)]
pub struct EntryRange {
    /// The field; `None` is the ids.
    pub(super) field: Option<String>,
    pub(super) first: Vec<u8>,
    pub(super) last: Vec<u8>,
}

/// An object as it was read.
#[derive(Debug, Clone, PartialEq)]
pub struct ReadObject {
    /// The entry of the index, or the id.
    pub entry: Vec<u8>,
    /// Another value each time that the object is stored; empty if it was not asked for.
    pub revision: String,
    /// The object.
    pub stored: StoredObject,
}

/// Objects that were read.
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

    /// The ids that begin with these bytes or with greater ones, and are less than those.
    pub fn of_ids(least: &[u8], beyond: &[u8]) -> Self {
        Self { field: None, ..Self::of_keys("", least, beyond) }
    }

    /// The entries of a field that begin with these bytes or with greater ones, and are less than those.
    pub fn of_keys(field: &str, least: &[u8], beyond: &[u8]) -> Self {
        Self { field: Some(field.to_owned()), first: [&b"["[..], least].concat(), last: [&b"("[..], beyond].concat() }
    }

    /// The field; `None` is the ids.
    pub fn field(&self) -> Option<&str> {
        self.field.as_deref()
    }

    /// Leaves out an entry and all before it; in descending order, all behind it. One that is not in the range leaves out nothing else.
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

/// The key of the value in an entry of an index.
pub fn key_of_entry(entry: &[u8]) -> SortKey {
    SortKey::from_bytes(entry.split(|byte| *byte == END).next().unwrap_or_default())
}

/// Appends field and key of each entry to a call.
pub(super) fn add_entries(call: &mut Cmd, entries: &IndexEntries) {
    for (field, key) in entries.iter().flat_map(|(field, keys)| keys.iter().map(move |key| (field, key))) {
        call.arg(field).arg(key.as_bytes());
    }
}

impl Objects<'_> {
    /// An object, if there is one.
    pub async fn get(self, collection: &Name, id: &ObjectId) -> Result<Option<Json>, Error> {
        let mut get = redis::cmd("HGET");
        get.arg(self.0.keys.objects(collection)).arg(id.as_str());
        let object = self.0.commands.call::<Text>(&get).await?.0;
        let spoilt = || Error::spoilt(self.0.keys.objects(collection), "has something for an id that is no JSON");
        object.map(|text| serde_json::from_str(&text).map_err(|_| spoilt())).transpose()
    }

    /// Whether there is such an object.
    pub async fn has(self, collection: &Name, id: &ObjectId) -> Result<bool, Error> {
        let mut exists = redis::cmd("HEXISTS");
        exists.arg(self.0.keys.objects(collection)).arg(id.as_str());
        self.0.commands.call(&exists).await
    }

    /// The indexes of a collection, by their fields.
    pub async fn indexes(self, collection: &Name) -> Result<Vec<Index>, Error> {
        Ok(indexes(self.0.hash(&self.0.keys.collection(collection)).await?))
    }

    /// The collections in the order of their names, each with how many objects it has, and its indexes.
    pub async fn collections(self) -> Result<Vec<(Name, u64, Vec<Index>)>, Error> {
        let names: Vec<Text> = self.0.commands.call(redis::cmd("SMEMBERS").arg(self.0.keys.collections())).await?;
        let mut names: Vec<Name> = names.iter().filter_map(Text::parse).collect();
        names.sort();
        // What another program made of a key counts as empty.
        let objects: Vec<String> = names.iter().map(|name| self.0.keys.objects(name)).collect();
        let mut lengths = Pipeline::with_capacity(names.len());
        for key in &objects {
            lengths.cmd("HLEN").arg(key);
        }
        let lengths: Vec<u64> = self.0.each_unspoilt(&objects, &mut lengths).await?;
        let hashes = self.0.hashes(names.iter().map(|name| self.0.keys.collection(name))).await?;
        Ok(names.into_iter().zip(lengths).zip(hashes).map(|((name, objects), fields)| (name, objects, indexes(fields))).collect())
    }

    /// The part of the memory of Redis that is in use, about; 0 where it may use all.
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
